package nn_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
)

// TestWeightMemory: the weights that edits make, those of clones and those that a cut leaves are charged to the memory budget while they are reachable.
func TestWeightMemory(t *testing.T) {
	const size = 4 << 20
	used := func() int64 {
		for range 3 {
			runtime.GC()
		}
		return budget.Default() - budget.LeftCollected()
	}
	before := used()
	expect := func(what string, copies float64) {
		t.Helper()
		if got := float64(used()-before) / size; got < copies-0.1 || got > copies+0.1 {
			t.Errorf("%s: %.2f times the weights are charged, want %.1f", what, got, copies)
		}
	}
	build := func(e *nn.Edit) {
		hidden := e.Node(op.Plain("MatMul"), e.Input("x", "float32[N,1]"), e.Param("a", initial.Zeros{}, 1, 1024)).Out(0)
		e.Output("y", e.Node(op.Plain("MatMul"), hidden, e.Param("b", initial.Zeros{}, 1024, 1024)).Out(0))
	}
	g := nn.New("g")
	nntest.Edit(t, g, build)
	expect("built", 1)
	c := nntest.Clone(t, g)
	expect("cloned", 2)
	nntest.Edit(t, g, func(e *nn.Edit) { e.RemoveChannels(e.Value("a").Users()[0], 512) })
	expect("cut", 1.5)
	nn.LimitMemory(budget.Default() - budget.LeftCollected() + size)
	defer nn.LimitMemory(0)
	if err := nn.New("h").Edit(build); err == nil || !strings.Contains(err.Error(), "takes 12582912 bytes of memory") {
		t.Error(err)
	}
	nn.LimitMemory(0)
	nn.LimitMemory(used() + size/4)
	if _, err := g.Clone(); err == nil || !strings.Contains(err.Error(), `copy: parameter "b": takes 2097152 bytes of memory`) {
		t.Errorf("a clone that does not fit: %v", err)
	}
	runtime.KeepAlive(c)
	runtime.KeepAlive(g)
}
