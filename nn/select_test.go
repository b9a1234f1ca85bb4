package nn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
)

// TestSelectors checks selectors by position, and combinations of selectors.
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

// A selector before or after a node that is not in the graph is an error of the edit, negated or not, and selects nothing elsewhere.
func TestSelectedByAbsentNode(t *testing.T) {
	node := func(g *nn.Graph) *nn.Node {
		n, err := g.Node("act")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	g := nntest.Small(t)
	removed := node(g)
	nntest.Edit(t, g, func(e *nn.Edit) { e.Remove(removed) })
	var undone *nn.Node
	if err := g.Edit(func(e *nn.Edit) { undone = e.Insert(e.Value("norm"), layers.ReLU{}).Producer(); e.Failf("undone") }); err == nil {
		t.Fatal("the edit must fail")
	}
	for _, c := range []struct {
		name string
		n    *nn.Node
		want string
	}{
		{"removed", removed, `"act" are selected, but it is not in this graph`},
		{"undone", undone, `are selected, but it is not in this graph`},
		{"of another graph", node(nntest.Small(t)), `"act" are selected, but it is not in this graph`},
		{"nil", nil, "but the node is nil"},
	} {
		for i, s := range []nn.Selector{nn.Before(c.n), nn.After(c.n), nn.Not(nn.Before(c.n)), nn.Any(nn.Glob("none"), nn.After(c.n))} {
			err := g.Edit(func(e *nn.Edit) { e.Freeze(s) })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, selector %d: %v, want an error with %s", c.name, i, err, c.want)
			}
			for n := range g.Nodes(s) {
				t.Errorf("%s, selector %d: selects %s", c.name, i, n.Name())
			}
		}
	}
}

// An operator of another domain is selected by its qualified name alone.
func TestOpsOfDomains(t *testing.T) {
	g := readNetwork(t, "opaque", "float32")
	for _, c := range []struct {
		name string
		want []string
	}{
		{"Gemm", []string{"h", "y"}},
		{"my.Gemm", []string{"s"}},
		{"my.Odd", []string{"o"}},
		{"Odd", nil},
		{".Gemm", nil},
	} {
		var got []string
		for n := range g.Nodes(nn.Ops(c.name)) {
			got = append(got, n.Out(0).Name())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	err := g.Edit(func(e *nn.Edit) { e.Configure(e.Find(nn.Ops("my.Gemm")), op.Plain("Gemm")) })
	if err == nil || !strings.HasSuffix(err.Error(), "is a my.Gemm, the attributes are those of Gemm") {
		t.Errorf("configured as a standard Gemm: %v", err)
	}
}
