package nntest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

var Update = flag.Bool("update", false, "write what is pinned in testdata anew")

// CompareFile compares text with a file, or writes the file with -update.
func CompareFile(t *testing.T, file, text string) {
	t.Helper()
	if *Update {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, want := strings.Split(strings.TrimSpace(text), "\n"), FileLines(t, file)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s:%d: got\n%s\nwant\n%s\n-update writes it anew", file, i+1, line(got, i), line(want, i))
		}
	}
}

func FileLines(t *testing.T, file string) []string {
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

// Spelled returns a graph as text: a line for each input, node and parameter.
func Spelled(g *nn.Graph) string {
	var b strings.Builder
	for _, v := range g.Inputs() {
		fmt.Fprintf(&b, "in %s %v%s\n", v.Name(), v.Type(), known(v))
	}
	for n := range g.Nodes() {
		fmt.Fprintf(&b, "%s = ", strings.Join(Names(n.Outputs()), ", "))
		fmt.Fprintf(&b, "%s(%s)", op.Name{Domain: n.Domain(), Name: n.Type()}, strings.Join(Names(n.Inputs()), ", "))
		for _, a := range Set(n) {
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
		if l, ok := n.WeightedSum(); ok {
			fmt.Fprintf(&b, ", a layer %v", l)
		}
		if c := Names(n.Captured()); c != nil {
			fmt.Fprintf(&b, ", captures %s", strings.Join(c, ", "))
		}
		// Most are called like their first output, in capitals in testdata/networks.
		if name := n.Name(); name != "" && !strings.EqualFold(name, Names(n.Outputs())[0]) {
			fmt.Fprintf(&b, ", named %s", name)
		}
		if a := n.Annotations(); len(a) > 0 {
			fmt.Fprintf(&b, ", annotated %v", a)
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
		fmt.Fprintf(&b, " %s\n", digest(direct.Tensor(p)))
	}
	fmt.Fprintf(&b, "out %s\n", strings.Join(Names(g.Outputs()), ", "))
	for k, v := range g.Meta() {
		fmt.Fprintf(&b, "meta %s %s\n", k, v)
	}
	return b.String()
}

func Names(list []*nn.Value) []string {
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

// Set lists the attributes of a node that are not at their defaults.
func Set(n *nn.Node) []op.Attr {
	if n.Op() == nil {
		return nil
	}
	return op.Encode(n.Op().Latest(), n.Config())
}

func attributeText(v any) string {
	switch v := v.(type) {
	case *nn.Body:
		return "{" + strings.ReplaceAll(strings.TrimSpace(Spelled(v.Graph)), "\n", "; ") + "}"
	case dtype.Value:
		return fmt.Sprint(op.TypeOf(v), digest(v))
	}
	return fmt.Sprint(v)
}

// known returns what is known of a value before the run, as text.
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

// digest returns a sum over the elements of a tensor and one in which each has another weight.
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

// Indent puts a tab in front of each line.
func Indent(s string) string {
	return "\t" + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n\t") + "\n"
}
