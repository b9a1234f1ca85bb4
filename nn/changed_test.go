package nn_test

import (
	"context"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"gorgonia.org/tensor"
)

// TestChanged checks that the packed weights that runs cache follow Changed, an edit and the training
// of a fork: later runs agree with a first run, which has no cache.
func TestChanged(t *testing.T) {
	g := nn.New("linear")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 40}, layers.ReLU{}, layers.Linear{Out: 7}}, e.Input("x", "float32[N,30]")))
	}); err != nil {
		t.Fatal(err)
	}
	x := dtype.New(dtype.Float32, 9, 30)
	for i := range x.Float32s() {
		x.Float32s()[i] = float32(i%11) - 5
	}
	run := func(g *nn.Graph) []float32 {
		t.Helper()
		y, err := g.Run(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		return y[0].Float32s()
	}
	// check compares runs with the first of a clone.
	check := func(what string) {
		t.Helper()
		want := run(nntest.Clone(t, g))
		for turn := range 4 {
			for i, v := range run(g) {
				if d := v - want[i]; d > 1e-4 || d < -1e-4 {
					t.Fatalf("%s, run %d: element %d is %v, want %v", what, turn, i, v, want[i])
				}
			}
		}
	}
	check("fresh")
	w := weights(g)
	for _, p := range w {
		p.Data().Float32s()[3] += 10
		p.Changed()
	}
	check("written in place")
	fork, origin := g.Fork()
	for p := range fork.Params() {
		if origin[p].Role() == nn.Weight {
			p.Data().Float32s()[0] -= 20
			p.Changed()
		}
	}
	check("written through a fork")
	if err := g.Edit(func(e *nn.Edit) {
		d := w[0].Data().Clone().(*tensor.Dense)
		d.Float32s()[1] = 30
		e.SetData(e.Value(w[0].Name()), d)
	}); err != nil {
		t.Fatal(err)
	}
	check("replaced by an edit")
}

// weights returns the matrices of a graph.
func weights(g *nn.Graph) (list []*nn.Param) {
	for p := range g.Params() {
		if p.Role() == nn.Weight && len(p.Data().Shape()) == 2 {
			list = append(list, p)
		}
	}
	return list
}
