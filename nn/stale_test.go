package nn_test

import (
	"context"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func filled(v float32, shape ...int) *tensor.Dense {
	d := dtype.New(dtype.Float32, shape...)
	for i := range dtype.Slice[float32](d) {
		dtype.Slice[float32](d)[i] = v
	}
	return d
}

func built(t *testing.T, f func(e *nn.Edit)) *nn.Graph {
	t.Helper()
	g := nn.New("g")
	if err := g.Edit(f); err != nil {
		t.Fatal(err)
	}
	return g
}

func first(t *testing.T, g *nn.Graph, in ...*tensor.Dense) float32 {
	t.Helper()
	out, err := g.Run(context.Background(), in...)
	if err != nil {
		t.Fatal(err)
	}
	return dtype.Slice[float32](out[0])[0]
}

// TestSolverThenRun: a graph that has run, is trained by Gorgonia's machine and solver, and runs again
// with the weights that it has then.
func TestSolverThenRun(t *testing.T) {
	g := built(t, func(e *nn.Edit) {
		x := e.Input("x", "float32[64,256]")
		w := e.Param("w", initial.Uniform{Low: -1, High: 1}, 256, 256)
		e.Output("y", e.Node(op.Plain("MatMul"), x, w).Outputs()[0])
	})
	x := filled(1, 64, 256)
	for range 4 {
		first(t, g, x) // packs the weight
	}
	l, err := g.Lower(nn.LowerOptions{Feed: nn.Feed{"x": x}})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		first(t, g, x)
	}
	loss, err := gorgonia.Sum(l.Outputs[0])
	if err != nil {
		t.Fatal(err)
	}
	params, nodes := l.Trainable()
	if _, err := gorgonia.Grad(loss, nodes...); err != nil {
		t.Fatal(err)
	}
	m := gorgonia.NewTapeMachine(l.ExprGraph, gorgonia.BindDualValues(nodes...))
	defer m.Close()
	solver := gorgonia.NewVanillaSolver(gorgonia.WithLearnRate(0.01))
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	if err := solver.Step(gorgonia.NodesToValueGrads(nodes)); err != nil {
		t.Fatal(err)
	}
	want := float32(0)
	for i := range 256 {
		want += dtype.Slice[float32](params[0].Data())[i*256]
	}
	if got := first(t, g, x); got < want-1e-2 || got > want+1e-2 {
		t.Errorf("after the solver's step the run gives %v, its weights %v", got, want)
	}
}

// TestChangedConstant: what was computed of a constant is computed again after it changed.
func TestChangedConstant(t *testing.T) {
	g := built(t, func(e *nn.Edit) {
		c := e.Const("c", filled(3))
		e.Output("y", e.Node(op.Plain("Add"), e.Input("x", "float32[]"), e.Node(op.Plain("Neg"), c).Outputs()[0]).Outputs()[0])
	})
	if got := first(t, g, filled(1)); got != -2 {
		t.Fatal(got)
	}
	for p := range g.Params() {
		dtype.Slice[float32](p.Data())[0] = 5
		p.Changed()
	}
	if got := first(t, g, filled(1)); got != -4 {
		t.Errorf("1 − 5 is %v", got)
	}
}

// TestWritesAreSeen: runs see what a program wrote to weights and constants in any way, without a call of Changed.
func TestWritesAreSeen(t *testing.T) {
	x, given, constant := filled(1, 4, 256), filled(1, 256, 256), filled(1, 256)
	for name, write := range map[string]func(g *nn.Graph, w, c *nn.Param) error{
		"an element":      func(_ *nn.Graph, w, _ *nn.Param) error { return w.Data().SetAt(float32(5), 0, 0) },
		"a slice of Data": func(_ *nn.Graph, w, _ *nn.Param) error { dtype.Slice[float32](w.Data())[256] = 5; return nil },
		"all":             func(_ *nn.Graph, w, _ *nn.Param) error { return w.Data().Memset(float32(5)) },
		"a constant":      func(_ *nn.Graph, _, c *nn.Param) error { return c.Data().Memset(float32(5)) },
		"Tensor":          func(_ *nn.Graph, w, _ *nn.Param) error { return w.Tensor().(*tensor.Dense).Memset(float32(5)) },
		"what is known of the value": func(_ *nn.Graph, _, c *nn.Param) error {
			return c.Value().Known().Value.(*tensor.Dense).Memset(float32(5))
		},
		"what SetData was given": func(*nn.Graph, *nn.Param, *nn.Param) error { return given.Memset(float32(5)) },
		"what Const was given":   func(*nn.Graph, *nn.Param, *nn.Param) error { return constant.Memset(float32(5)) },
		"through a fork": func(g *nn.Graph, w, _ *nn.Param) error {
			fork, origin := g.Fork()
			for p := range fork.Params() {
				if origin[p] == w {
					return p.Data().Memset(float32(5))
				}
			}
			return nil
		},
	} {
		g := built(t, func(e *nn.Edit) {
			w, c := e.Param("w", initial.Full{Value: 1}, 256, 256), e.Const("c", constant)
			e.SetData(w, given)
			e.SetRole(w, nn.Weight)
			e.SetRole(c, nn.Constant)
			y := e.Node(op.Plain("MatMul"), e.Input("x", "float32[4,256]"), w).Out(0)
			e.Output("y", e.Node(op.Plain("Add"), y, e.Node(op.Plain("Neg"), c).Out(0)).Out(0))
		})
		for range 3 { // by now weights are packed
			first(t, g, x)
		}
		list := slices.Collect(g.Params())
		for turn := range 2 {
			if err := write(g, list[0], list[1]); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if got, want := first(t, g, x), first(t, nntest.Clone(t, g), x); got != want || got == 255 {
					t.Errorf("%s, time %d: %v, want %v", name, turn, got, want)
				}
			}
			if err := given.Memset(float32(1)); err != nil {
				t.Fatal(err)
			}
			if err := constant.Memset(float32(1)); err != nil {
				t.Fatal(err)
			}
			if got := first(t, g, x); got != 255 {
				t.Errorf("%s, taken back: %v, want 255", name, got)
			}
		}
	}
}

// TestSequenceIsTheCallers: what is done to a sequence that Eval returned does not reach weights.
func TestSequenceIsTheCallers(t *testing.T) {
	g := built(t, func(e *nn.Edit) {
		w := e.Param("w", initial.Uniform{Low: 1, High: 1}, 4)
		s := e.Node(op.Plain("SequenceConstruct"), w, e.Input("x", "float32[4]")).Outputs()[0]
		e.Output("s", s)
		e.Output("y", e.Node(op.Plain("Neg"), w).Outputs()[0])
	})
	x := filled(2, 4)
	out, err := g.Eval(context.Background(), nn.Feed{"x": x}, "s")
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range out["s"].(*dtype.Sequence).Items {
		dtype.Slice[float32](item.(*tensor.Dense))[0] = 9
	}
	again, err := g.Eval(context.Background(), nn.Feed{"x": x}, "y")
	if err != nil {
		t.Fatal(err)
	}
	if got := dtype.Slice[float32](again["y"].(*tensor.Dense)); !slices.Equal(got, []float32{-1, -1, -1, -1}) || dtype.Slice[float32](x)[0] != 2 {
		t.Errorf("the weights are %v now, the input %v", got, x)
	}
}

// TestTransposedData: a transposed tensor and a part of one are taken with the elements they show.
func TestTransposedData(t *testing.T) {
	d, err := dtype.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.T(); err != nil {
		t.Fatal(err)
	}
	whole, _ := dtype.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 3, 2)
	part, err := whole.Slice(nil, gorgonia.S(1))
	if err != nil {
		t.Fatal(err)
	}
	g := built(t, func(e *nn.Edit) {
		w := e.Param("w", initial.Uniform{}, 3, 2)
		e.SetData(w, d)
		sum := e.Node(op.Plain("Add"), w, e.Input("x", "float32[3,2]")).Outputs()[0]
		e.Output("y", e.Node(op.Plain("Identity"), sum).Outputs()[0])
		e.Output("part", e.Node(op.Plain("Identity"), e.Const("column", part.(*tensor.Dense))).Outputs()[0])
	})
	out, err := g.Run(context.Background(), filled(0, 3, 2))
	if err != nil {
		t.Fatal(err)
	}
	if got := dtype.Slice[float32](out[0]); !slices.Equal(got, []float32{1, 4, 2, 5, 3, 6}) {
		t.Errorf("transposed: %v", got)
	}
	if got := dtype.Slice[float32](out[1]); !slices.Equal(got, []float32{2, 4, 6}) {
		t.Errorf("sliced: %v", got)
	}
}
