package train_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestLossesOfReplacedOperators: the nodes of a loss are of the set of the graph that it is built into.
func TestLossesOfReplacedOperators(t *testing.T) {
	var list []*op.Op
	for _, o := range std.Operators().List() {
		c := *o
		list = append(list, &c)
	}
	ops, err := std.Operators().With(list...)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("testdata/losses.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Loss      string
		Options   json.RawMessage
		Out, Want array
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		g := nn.NewGraph("loss", ops, map[string]int{"": 13})
		err := g.Edit(func(e *nn.Edit) {
			x, y := e.Input("x", typeOf(c.Out)), e.Input("y", typeOf(c.Want))
			e.Output("loss", lossNamed(t, c.Loss, c.Options).Build(e, []*nn.Value{x}, []*nn.Value{y}))
		})
		if err != nil {
			t.Fatal(err)
		}
		for n := range g.Nodes() {
			if o := n.Op(); ops.Find(o.Domain, o.Name) != o {
				t.Errorf("%s: %s is not of the graph's set", c.Loss, n.Type())
			}
		}
	}
}
