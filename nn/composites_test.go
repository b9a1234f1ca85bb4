package nn_test

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestComposites checks that an operator that an old operator set spells out as several nodes is found
// as that one operator, once.
func TestComposites(t *testing.T) {
	g := nn.New("m")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,6,8]")
		e.Output("y", e.Apply(nn.Sequential{layers.LayerNorm{Name: "norm"}, layers.Linear{Out: 8, Name: "up"}, layers.GELU{}, layers.SiLU{}}, x))
		e.SetOpset(13)
	}); err != nil {
		t.Fatal(err)
	}
	seen := map[*nn.Node]bool{}
	var names []string
	composites, err := g.Composites(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range composites {
		names = append(names, c.Name)
		if len(c.In) != len(c.Consts) || c.In[0] == nil || c.Config == nil {
			t.Errorf("%s: inputs %v, constants %v", c.Name, c.In, c.Consts)
		}
		for _, n := range c.Nodes {
			if seen[n] {
				t.Errorf("%s is in two groups", n.Label())
			}
			seen[n] = true
		}
	}
	if want := "[layer normalization linear gelu swish]"; fmt.Sprint(names) != want {
		t.Errorf("found %v, want %s", names, want)
	}
	for _, c := range composites {
		if cfg, ok := c.Config.(std.LayerNormalizationConfig); ok && (len(c.In) != 3 || c.In[1].Name() != "norm.weight" || cfg.Epsilon != nil && *cfg.Epsilon != 1e-5) {
			t.Errorf("the normalization reads %v with ε = %v", c.In, cfg.Epsilon)
		}
	}
}
