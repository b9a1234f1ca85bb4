package nn_test

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget/budgettest"
	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestBodyMemory: what a Loop carries is charged: the value of one iteration, that of the next, and the memory of the body.
func TestBodyMemory(t *testing.T) {
	const size = 4 << 20 // bytes of a value
	body := nntest.BodyOf(t, func(e *nn.Edit) {
		e.Input("i", "int64[]")
		e.Output("on", e.Node(op.Plain("Identity"), e.Input("condition", "bool[]")).Out(0))
		e.Output("next", e.Node(op.Plain("Tanh"), e.Input("s", "float32[N]")).Out(0))
	})
	g := model(t, func(e *nn.Edit) {
		n := e.Node(std.LoopConfig{Body: body}, e.Input("trips", "int64[]"), nil, e.Input("x", "float32[N]"))
		e.Output("y", e.Node(std.ReduceMaxConfig{}, n.Out(0)).Out(0))
	})
	before := nn.MemoryLeft()
	defer nn.LimitMemory(0)
	for _, c := range []struct {
		memory int64
		fits   bool
	}{{5 * size / 2, false}, {6 * size, true}, {40 * size, true}} {
		nn.LimitMemory(before - nn.MemoryLeft() + c.memory)
		_, err := g.Run(t.Context(), dtype.Scalar(int64(4)), dtype.New(dtype.Float32, size/4))
		if (err == nil) != c.fits || !c.fits && !strings.Contains(err.Error(), "bytes of memory") {
			t.Errorf("with %d bytes: %v", c.memory, err)
		}
		nn.LimitMemory(0)
	}
}

// TestTapeMemory: what the gradient of a Loop keeps of each iteration is charged, the iteration's number and lists of inputs included.
func TestTapeMemory(t *testing.T) {
	const trips = 8192
	body := nntest.BodyOf(t, func(e *nn.Edit) {
		e.Input("i", "int64[]")
		e.Output("on", e.Node(op.Plain("Identity"), e.Input("condition", "bool[]")).Out(0))
		e.Output("next", e.Node(op.Plain("Tanh"), e.Input("s", "float32[1]")).Out(0))
	})
	g := model(t, func(e *nn.Edit) {
		n := e.Node(std.LoopConfig{Body: body}, e.Input("trips", "int64[]"), nil, e.Input("x", "float32[1]"))
		e.Output("y", n.Out(0))
	})
	defer nn.LimitMemory(0)
	nn.LimitMemory(budgettest.Used() + trips*750)
	_, err := g.Grad(t.Context(), nn.Feed{"trips": dtype.Scalar(int64(trips)), "x": dtype.New(dtype.Float32, 1)}, "y", "x")
	if err == nil || !strings.Contains(err.Error(), "bytes of memory") {
		t.Error(err)
	}
}
