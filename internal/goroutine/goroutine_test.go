package goroutine

import "testing"

func TestID(t *testing.T) {
	other := make(chan int64)
	go func() { other <- ID() }()
	if id := ID(); id <= 0 || id != traced() || id == <-other {
		t.Error(id)
	}
}
