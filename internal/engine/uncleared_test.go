package engine

import (
	"errors"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
)

// TestStoppedCopyIsNotCharged: a large copy ends with its context, and what was charged for it is returned.
func TestStoppedCopyIsNotCharged(t *testing.T) {
	d := dtype.New(dtype.Float32, 3<<22)
	p, done := (*kernel.Pool)(nil).Stoppable(), make(chan struct{})
	p.StopBy(done)
	c, err := copyHeld(p, d)
	if err != nil || len(c.Raw) != len(d.Raw) || !c.Shape().Eq(d.Shape()) {
		t.Fatalf("copied %v, %v", c, err)
	}
	close(done)
	defer LimitMemory(0)
	LimitMemory(1 << 50)
	before := MemoryLeft()
	func() {
		defer func() {
			if r, _ := recover().(error); !errors.Is(r, kernel.Stopped{}) {
				t.Errorf("recovered %v", r)
			}
		}()
		_, _ = copyHeld(p, d)
	}()
	if now := MemoryLeft(); now < before {
		t.Errorf("%d bytes remain charged", before-now)
	}
}
