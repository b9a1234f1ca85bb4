package nn

import (
	"testing"
	"time"
)

// A goroutine that reads may read more while an edit waits, by RLock and by enter; another one may only by enter. It may not edit.
func TestReadWhileEditWaits(t *testing.T) {
	g := New("net")
	l := g.lock()
	outer := l.RLock()
	edited := make(chan error)
	go func() { edited <- g.Edit(func(e *Edit) { e.SetName("other") }) }()
	for l.waiting.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	l.RLock().unlock()
	l.enter().unlock()
	if err := g.Edit(func(*Edit) {}); err == nil {
		t.Error("no error: the goroutine reads")
	}
	done := make(chan bool)
	go func() { l.enter().unlock(); done <- true }()
	<-done
	go func() { l.RLock().unlock(); done <- true }()
	select {
	case <-done:
		t.Error("a reader overtook an edit")
	case <-time.After(10 * time.Millisecond):
	}
	outer.unlock()
	if err := <-edited; err != nil {
		t.Error(err)
	}
	<-done
	if g.Name() != "other" || l.readers.Load() != 0 || len(l.reading) != 0 {
		t.Error(g.Name(), l.readers.Load(), l.reading)
	}
}
