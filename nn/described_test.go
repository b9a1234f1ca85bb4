package nn_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

var update = flag.Bool("update", false, "write testdata/described anew")

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
			b.WriteString(spelled(g))
			describeCosts(&b, g)
			describeChannels(&b, g)
			describeHead(t, &b, g)
			describeEdits(t, &b, g, editsOf(g))
			compareFile(t, filepath.Join("testdata", "described", name+".txt"), b.String())
		})
	}
}

// compareFile compares text with a file, or writes the file with -update.
func compareFile(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, want := strings.Split(strings.TrimSpace(text), "\n"), fileLines(t, file)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s:%d: got\n%s\nwant\n%s\n-update writes it anew", file, i+1, line(got, i), line(want, i))
		}
	}
}

func fileLines(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

func line(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "nothing"
}

// spelled is a graph as text: a line for each input, node and parameter.
func spelled(g *nn.Graph) string {
	var b strings.Builder
	for _, v := range g.Inputs() {
		fmt.Fprintf(&b, "in %s %v%s\n", v.Name(), v.Type(), known(v))
	}
	for n := range g.Nodes() {
		fmt.Fprintf(&b, "%s = ", strings.Join(names(n.Outputs()), ", "))
		if n.Domain() != "" {
			b.WriteString(n.Domain() + ".")
		}
		fmt.Fprintf(&b, "%s(%s)", n.Type(), strings.Join(names(n.Inputs()), ", "))
		for _, a := range set(n) {
			fmt.Fprintf(&b, " %s=%v", a.Name, attributeText(a.Value))
		}
		b.WriteString(" ->")
		for _, v := range n.Outputs() {
			if v != nil {
				fmt.Fprintf(&b, " %v%s", v.Type(), known(v))
			}
		}
		if n.IsActivation() {
			b.WriteString(", an activation")
		}
		if l, ok := n.Layer(); ok {
			fmt.Fprintf(&b, ", a layer %v", l)
		}
		if c := names(n.Captured()); c != nil {
			fmt.Fprintf(&b, ", captures %s", strings.Join(c, ", "))
		}
		b.WriteString("\n")
	}
	for p := range g.Params() {
		fmt.Fprintf(&b, "%s = %v %s", p.Name(), p.Value().Type(), p.Role())
		if p.Trainable() {
			b.WriteString(", trained")
		}
		if p.Frozen() {
			b.WriteString(", frozen")
		}
		fmt.Fprintf(&b, " %s\n", digest(p.Tensor()))
	}
	fmt.Fprintf(&b, "out %s\n", strings.Join(names(g.Outputs()), ", "))
	for k, v := range g.Meta() {
		fmt.Fprintf(&b, "meta %s %s\n", k, v)
	}
	return b.String()
}

func names(list []*nn.Value) []string {
	var s []string
	for _, v := range list {
		if v == nil {
			s = append(s, "_")
		} else {
			s = append(s, v.Name())
		}
	}
	return s
}

// set lists the attributes of a node that are not at their defaults.
func set(n *nn.Node) []op.Attr {
	if n.Op() == nil {
		return nil
	}
	return op.Encode(n.Op().Latest(), n.Config())
}

func attributeText(v any) string {
	switch v := v.(type) {
	case *nn.Body:
		return "{" + strings.ReplaceAll(strings.TrimSpace(spelled(v.Graph)), "\n", "; ") + "}"
	case dtype.Value:
		return fmt.Sprint(op.TypeOf(v), digest(v))
	}
	return fmt.Sprint(v)
}

// known is what is known of a value before anything runs.
func known(v *nn.Value) string {
	k := v.Known()
	s := ""
	if k.Value != nil && v.Param() == nil {
		s += " " + digest(k.Value)
	}
	if k.Dims != nil {
		s += fmt.Sprint(" dims ", k.Dims)
	}
	return s
}

// digest is a sum over the elements of a tensor and one in which each has another weight.
func digest(v dtype.Value) string {
	d, ok := v.(*tensor.Dense)
	if !ok {
		return fmt.Sprint(v)
	}
	x, err := dtype.Float64s(d)
	if err != nil {
		return err.Error()
	}
	if len(x) <= 8 {
		return strings.ReplaceAll(fmt.Sprintf("%.4g", x), "-0 ", "0 ")
	}
	plain, weighted := 0.0, 0.0
	for i, e := range x {
		plain += e
		weighted += e * float64(i%7-3+i%11)
	}
	return fmt.Sprintf("%.4g %.4g", plain, weighted)
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
	for _, c := range g.Composites() {
		fmt.Fprintf(b, "composite %s: %v of %s, %d constants, nodes %s\n", c.Name, c.Config, names(c.In), len(c.Consts), labels(c.Nodes))
	}
}
