package op

import (
	"context"
	"fmt"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
)

// watching is a context that notes how many nodes a graph got between two checks at most.
type watching struct {
	context.Context
	graph *gorgonia.ExprGraph
	nodes *int
	most  *int
}

func (w watching) Err() error {
	n := len(w.graph.AllNodes())
	*w.most, *w.nodes = max(*w.most, n-*w.nodes), n
	return w.Context.Err()
}

// TestBackpropagateChecks: where a value has many readers, or an operator many outputs, the gradient takes a few nodes for each, and the context is
// checked between them.
func TestBackpropagateChecks(t *testing.T) {
	const many = 200
	f := Shaped(dtype.Float32, 2)
	double := probe(func(o *Op) {
		o.NoGrad, o.Where, o.Out = "", nil, "Y* T"
		o.Infer = func(c *Call) ([]Type, error) {
			list := make([]Type, c.Outputs)
			for i := range list {
				list[i] = f
			}
			return list, nil
		}
		o.Grad = func(_ *Call, _, _, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			sum := dout[0]
			for _, d := range dout[1:2] {
				sum = gorgonia.Must(gorgonia.Add(sum, d))
			}
			return gorgonia.Nodes{gorgonia.Must(gorgonia.Add(sum, sum))}, nil
		}
	})
	set, err := NewSet(nil).With(double)
	if err != nil {
		t.Fatal(err)
	}
	for name, readers := range map[string]int{"readers": many, "outputs": 1} {
		g := gorgonia.NewGraph()
		ctx := watching{t.Context(), g, new(int), new(int)}
		x, err := Input(g, "x", f, nil)
		if err != nil {
			t.Fatal(err)
		}
		var of, seeds gorgonia.Nodes
		for i := range readers {
			c, err := set.NewCall(double, f)
			if err != nil {
				t.Fatal(err)
			}
			c.Ctx, c.Node, c.Outputs = ctx, fmt.Sprint("n", i), max(2, many/readers)
			if err := c.Resolve(); err != nil {
				t.Fatal(err)
			}
			out, err := Emit(g, c, gorgonia.Nodes{x})
			if err != nil {
				t.Fatal(err)
			}
			of = append(of, out...)
		}
		for i := range of {
			seed, err := Input(g, fmt.Sprint("seed", i), f, nil)
			if err != nil {
				t.Fatal(err)
			}
			seeds = append(seeds, seed)
		}
		before := len(g.AllNodes())
		*ctx.nodes, *ctx.most = before, 0
		grads, err := Backpropagate(ctx, of, seeds, gorgonia.Nodes{x})
		if err != nil || len(grads) != 1 {
			t.Fatal(name, grads, err)
		}
		if got := len(g.AllNodes()) - before; *ctx.most > 4 || got > 4*readers {
			t.Errorf("%s: %d nodes in all, %d of them between two checks of the context", name, got, *ctx.most)
		}
	}
}
