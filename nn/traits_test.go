package nn_test

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// hinge returns a user's operator, max(0, x), with what it declares of itself.
func hinge(traits op.Traits) *op.Op {
	return &op.Op{
		Domain: "my", Name: "Hinge", Doc: "max(0, x).", Since: []int{1}, In: "X T", Out: "Y T", Where: op.Where{"T": op.Floats()},
		Infer: op.Same, Couple: op.Elementwise, NoGrad: "not needed here", Traits: traits,
		Func: func(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
			x, err := dtype.Float64s(in[0].(*tensor.Dense))
			if err != nil {
				return nil, err
			}
			for i := range x {
				x[i] = max(x[i], 0)
			}
			y, err := dtype.FromFloats(c.In[0].DType, x, c.In[0].Sizes()...)
			return []dtype.Value{y}, err
		},
	}
}

var hingeName = op.Name{Domain: "my", Name: "Hinge"}

// hinged returns a graph of two layers with the operator between them.
func hinged(t *testing.T, traits op.Traits) *nn.Graph {
	t.Helper()
	ops, err := std.Operators().With(hinge(traits))
	if err != nil {
		t.Fatal(err)
	}
	g := nn.NewGraph("hinged", ops, map[string]int{"": nn.LatestOpset, "my": 1})
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "float32[3,4]")
		h := e.Apply(layers.Linear{Out: 6, Name: "first"}, x)
		e.Output("y", e.Apply(layers.Linear{Out: 2, Name: "second"}, e.Node(hingeName, h).Out(0)))
	})
	return g
}

// TestUserTraits: what a user's operator declares counts as what ours declare, and nothing is known of one that
// declares nothing or is not known.
func TestUserTraits(t *testing.T) {
	declared := op.Traits{
		Zero: op.ZeroFirst,
		Range: func(_ *op.Call, in func(int) trait.Interval) trait.Interval {
			return trait.Interval{Lo: 0, Hi: max(in(0).Hi, 0)}
		},
		Activation: trait.HiddenActivation,
		Keeps:      func(_ *op.Call, r trait.Interval) bool { return r.Lo >= 0 },
	}
	at := func(g *nn.Graph) *nn.Node {
		for n := range g.Nodes() {
			if n.Domain() == "my" {
				return n
			}
		}
		t.Fatal("no node of the user's operator")
		return nil
	}
	g := hinged(t, declared)
	if !at(g).IsActivation() {
		t.Error("the declared activation is none")
	}
	layer := nn.OpLayer{Config: hingeName}
	mine := at(g)
	nntest.Edit(t, g, func(e *nn.Edit) { // exact, as results are positive and positive numbers stay
		e.Deepen(mine.Out(0), nn.Deepening{Layer: layers.Fitting{}, Activation: layer})
	})
	nntest.Edit(t, g, func(e *nn.Edit) {
		if list := e.SwapActivations(layers.Tanh{}); len(list) != 2 {
			t.Errorf("%d activations were swapped, want 2", len(list))
		}
	})
	silent := hinged(t, op.Traits{})
	if at(silent).IsActivation() {
		t.Error("an operator that declares nothing is an activation")
	}
	mine = at(silent)
	err := silent.Edit(func(e *nn.Edit) {
		e.Deepen(mine.Out(0), nn.Deepening{Layer: layers.Fitting{}, Activation: layer, Near: true})
	})
	if err == nil || !strings.Contains(err.Error(), "cannot start as the identity") {
		t.Errorf("deepened by an operator that declares nothing: %v", err)
	}
}
