package nn_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
)

// TestDescribed compares what is said of small networks (types, roles, costs, couplings, groups, what each edit does
// to them or why it is refused) with what was said before, in testdata/described. After an intended change,
// go test ./nn -run TestDescribed -update writes it anew: read the difference.
func TestDescribed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "networks", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d networks, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := readNetwork(t, name, "float32")
			var b strings.Builder
			b.WriteString(nntest.Spelled(g))
			describeCosts(&b, g)
			describeChannels(&b, g)
			describeHead(t, &b, g)
			describeEdits(t, &b, g, editsOf(g))
			nntest.CompareFile(t, filepath.Join("testdata", "described", name+".txt"), b.String())
		})
	}
}

func describeCosts(b *strings.Builder, g *nn.Graph) {
	for _, sizes := range []map[string]int{nil, {"N": 3, "T": 4, "H": 2, "W": 5}} {
		s := g.SummaryAt(sizes)
		fmt.Fprintf(b, "\nsummary at %v of %v: %+v\n", sizes, s.Inputs, s.Total)
		for _, r := range s.Rows {
			fmt.Fprintf(b, "\t%s %s %v %s parameters %d, trained %d, multiply-adds %d, bytes %d", r.Node, r.Op, r.Outputs, r.Shape, r.Params, r.Trainable, r.MACs, r.Bytes)
			if r.Folded {
				b.WriteString(", folded")
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n" + g.Summary().String())
}

// describeChannels lists what hangs together, and why the rest is fixed.
func describeChannels(b *strings.Builder, g *nn.Graph) {
	c := g.Channels()
	fmt.Fprintf(b, "\nchannels, cost %+v\n", c.Cost(nil))
	for i, x := range c.Groups() {
		fmt.Fprintf(b, "group %d: %d atoms", i, len(x.Atoms))
		if x.Normalized {
			b.WriteString(", normalized")
		}
		fmt.Fprintf(b, ", made by %s, read by %s\n\tparameters", labels(x.Makers()), labels(x.Nodes()))
		for _, p := range x.Params() {
			fmt.Fprintf(b, " %s.%d:%d of %d", p.Value.Name(), p.Axis, p.PerAtom, p.Size)
			if x.Makes(p.Value.Param()) {
				b.WriteString(" (made)")
			}
		}
		b.WriteString("\n\tvalues")
		for _, v := range x.Values() {
			fmt.Fprintf(b, " %s.%d:%d of %d", v.Value.Name(), v.Axis, v.PerAtom, v.Size)
		}
		b.WriteString("\n")
		for _, k := range []int{0, len(x.Atoms) - 1} {
			fmt.Fprintf(b, "\tatom %d:", k)
			for _, s := range x.Atoms[k].Slices() {
				fmt.Fprintf(b, " %s.%d%v", s.Param.Name(), s.Axis, s.Index)
			}
			fmt.Fprintf(b, ", cost without %+v\n", c.Cost(x.Atoms[k:k+1]))
		}
	}
	for _, v := range values(g) {
		for axis := range v.Type().Shape {
			if err := c.Fixed(v, axis); err != nil {
				fmt.Fprintf(b, "fixed: %v\n", err)
			}
		}
	}
}

func labels(list []*nn.Node) []string {
	var s []string
	for _, n := range list {
		s = append(s, n.Label())
	}
	return s
}

// values lists a graph's inputs, what nodes compute and parameters.
func values(g *nn.Graph) []*nn.Value {
	list := slices.Clone(g.Inputs())
	for n := range g.Nodes() {
		for _, v := range n.Outputs() {
			if v != nil {
				list = append(list, v)
			}
		}
	}
	for p := range g.Params() {
		list = append(list, p.Value())
	}
	return list
}

func describeHead(t *testing.T, b *strings.Builder, g *nn.Graph) {
	if _, err := g.Plan(func(e *nn.Edit) {
		if n, features := e.Classifier(); n != nil {
			fmt.Fprintf(b, "\nclassifier %s on %s\n", n.Label(), features.Name())
		}
	}); err != nil {
		fmt.Fprintf(b, "\nclassifier: %v\n", err)
	}
	composites, err := g.Composites(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range composites {
		fmt.Fprintf(b, "composite %s: %v of %s, %d constants, nodes %s\n", c.Name, c.Config, nntest.Names(c.In), len(c.Consts), labels(c.Nodes))
	}
}
