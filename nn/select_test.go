package nn_test

import (
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/internal/nntest"
)

// Selectors by position, and how selectors are combined.
func TestSelectors(t *testing.T) {
	g := nntest.Small(t)
	sum, err := g.Node("sum")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		sel  []nn.Selector
		want []string
	}{
		{"before", []nn.Selector{nn.Before(sum)}, []string{"stem", "norm", "act", "body"}},
		{"after", []nn.Selector{nn.After(sum)}, []string{"pool", "flat", "fc", "prob"}},
		{"after and of a kind", []nn.Selector{nn.After(sum), nn.Ops("Gemm", "Conv")}, []string{"fc"}},
		{"neither", []nn.Selector{nn.Not(nn.Any(nn.Before(sum), nn.After(sum)))}, []string{"sum"}},
		{"glob", []nn.Selector{nn.Glob("f*")}, []string{"flat", "fc"}},
		{"a parameter", []nn.Selector{nn.Glob("fc.weight")}, []string{"fc"}},
		{"parameters of a layer", []nn.Selector{nn.Glob("norm.*")}, []string{"norm"}},
		{"a second output", []nn.Selector{nn.Glob("scores")}, []string{"prob"}},
		{"one of several patterns", []nn.Selector{nn.Glob("nothing", "p?ol")}, []string{"pool"}},
		{"nil", []nn.Selector{nil}, nil},
		{"nil among others", []nn.Selector{nn.Ops("Gemm"), nil}, nil},
		{"not nil", []nn.Selector{nn.Not(nil), nn.Ops("Gemm")}, []string{"fc"}},
		{"any of nil", []nn.Selector{nn.Any(nil, nn.Ops("Gemm"))}, []string{"fc"}},
		{"before nothing", []nn.Selector{nn.Before(nil)}, nil},
		{"after nothing", []nn.Selector{nn.After(nil)}, nil},
	} {
		var got []string
		for n := range g.Nodes(c.sel...) {
			got = append(got, n.Name())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
