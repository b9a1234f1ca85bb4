package nn_test

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// nestedLoop returns a Loop in a Loop, depth times, each of which collects its states.
func nestedLoop(depth int) (*nn.Body, error) {
	var inner *nn.Body
	if depth > 0 {
		var err error
		if inner, err = nestedLoop(depth - 1); err != nil {
			return nil, err
		}
	}
	g := nn.New("body")
	err := g.Edit(func(e *nn.Edit) {
		e.Input("i", "int64[]")
		e.Output("on", e.Node(op.Plain("Identity"), e.Input("condition", "bool[]")).Out(0))
		s := e.Input("s", "float32[2]")
		if inner == nil {
			y := e.Node(op.Plain("Tanh"), s).Out(0)
			e.Output("next", y)
			e.Output("collected", e.Node(op.Plain("Identity"), y).Out(0))
			return
		}
		n := e.NodeN(std.LoopConfig{Body: inner}, 2, e.Const("trips", dtype.Scalar(int64(1))), nil, s)
		e.Output("next", n.Out(0))
		e.Output("collected", e.Node(std.ReduceSumConfig{KeepDims: new(bool)}, n.Out(1)).Out(0))
	})
	return nn.NewBody(g, nil), err
}

// TestNestedLoops: finding the types of a Loop asks for those of its body several times, and that of a Loop within it several times for each; what
// was found before is not looked for again. Too many visits are refused.
func TestNestedLoops(t *testing.T) {
	defer nn.SetMaxNested(100)()
	if _, err := nestedLoop(20); err != nil {
		t.Error(err)
	}
	nn.SetMaxNested(-1000)
	if _, err := nestedLoop(3); err == nil || !strings.Contains(err.Error(), "subgraphs are nested too deeply") {
		t.Error(err)
	}
}

// TestLongBody: a body may have any number of nodes of its own, also where the engine lowers it for a run.
func TestLongBody(t *testing.T) {
	defer nn.SetMaxNested(10)()
	g := nn.New("body")
	if err := g.Edit(func(e *nn.Edit) {
		e.Input("i", "int64[]")
		e.Output("on", e.Node(op.Plain("Identity"), e.Input("condition", "bool[]")).Out(0))
		s := e.Input("s", "float32[2]")
		for range 50 {
			s = e.Node(op.Plain("Tanh"), s).Out(0)
		}
		e.Output("next", s)
	}); err != nil {
		t.Fatal(err)
	}
	body := nn.NewBody(g, nil)
	loop := nn.New("loop")
	if err := loop.Edit(func(e *nn.Edit) {
		e.Output("y", e.NodeN(std.LoopConfig{Body: body}, 1, e.Const("trips", dtype.Scalar(int64(2))), nil, e.Input("x", "float32[2]")).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := loop.Run(t.Context(), tensor.New(tensor.WithShape(2), tensor.WithBacking([]float32{1, 2}))); err != nil {
		t.Error(err)
	}
}
