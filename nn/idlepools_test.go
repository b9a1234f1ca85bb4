package nn

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// TestIdlePoolsAreForgotten: programs of graphs that are gone leave nothing behind.
func TestIdlePoolsAreForgotten(t *testing.T) {
	g := New("net")
	if err := g.Edit(func(e *Edit) { e.Output("y", e.Node(op.Plain("Relu"), e.Input("x", "float32[N]")).Out(0)) }); err != nil {
		t.Fatal(err)
	}
	known := func() int {
		idlePools.Lock()
		defer idlePools.Unlock()
		return len(idlePools.all)
	}
	for range 100 {
		c, err := g.Clone()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(context.Background(), dtype.New(dtype.Float32, 3)); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		if runtime.GC(); known() < 50 {
			return
		}
		time.Sleep(time.Millisecond) // cleanups run by themselves
	}
	t.Errorf("%d pools of programs are known", known())
}
