package nntest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// Dump spells out everything an edit can change, so that two states of a graph can be compared.
func Dump(g *nn.Graph) string {
	var b strings.Builder
	list := func(vs []*nn.Value) string {
		var s []string
		for _, v := range vs {
			s = append(s, fmt.Sprintf("%s %v", v.Name(), v.Type()))
		}
		return strings.Join(s, ", ")
	}
	fmt.Fprintf(&b, "%s %s opsets %v meta %v\n", g.Name(), g.Doc(), g.Opsets(), g.Meta())
	fmt.Fprintf(&b, "in %s\nout %s\n", list(g.Inputs()), list(g.Outputs()))
	for n := range g.Nodes() {
		var users []string
		for _, v := range n.Outputs() {
			for _, u := range v.Users() {
				users = append(users, u.Label())
			}
		}
		fmt.Fprintf(&b, "%s %q(%s) -> %s, read by %v, %v\n", n.Type(), n.Name(), list(n.Inputs()), list(n.Outputs()), users, attributes(n))
	}
	var params []string
	for p := range g.Params() {
		params = append(params, fmt.Sprintf("%s %v %s frozen=%v %x", p.Name(), p.Value().Type(), p.Role(), p.Frozen(), sum(direct.Tensor(p))))
	}
	slices.Sort(params)
	return b.String() + strings.Join(params, "\n") + "\n"
}

func attributes(n *nn.Node) []op.Attr {
	if n.Op() == nil {
		return nil
	}
	list := op.Encode(n.Op().Latest(), n.Config())
	for i, a := range list {
		if b, ok := a.Value.(*nn.Body); ok {
			list[i].Value = fmt.Sprint(b.Captured(), strings.ReplaceAll(Dump(b.Graph), "\n", "; "))
		}
	}
	return list
}

func sum(v dtype.Value) uint64 {
	h := uint64(14695981039346656037)
	if d, ok := v.(*tensor.Dense); ok {
		for _, c := range dtype.Bytes(d) {
			h = (h ^ uint64(c)) * 1099511628211
		}
	}
	return h
}

// Edit applies f and checks the graph.
func Edit(t *testing.T, g *nn.Graph, f func(e *nn.Edit)) {
	t.Helper()
	if err := g.Edit(f); err != nil {
		t.Fatal(err)
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
}

// Clone returns a deep copy of a graph.
func Clone(t testing.TB, g *nn.Graph) *nn.Graph {
	t.Helper()
	c, err := g.Clone()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Ramp returns a tensor of unremarkable numbers.
func Ramp(shape ...int) *tensor.Dense {
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32((i*7919+13)%101)/50 - 1
	}
	d, err := dtype.FromSlice(v, shape...)
	if err != nil {
		panic(err)
	}
	return d
}

// Run returns the elements of the graph's first output.
func Run(t *testing.T, g *nn.Graph, in ...*tensor.Dense) []float64 {
	t.Helper()
	out, err := g.Run(context.Background(), in...)
	if err != nil {
		t.Fatal(err)
	}
	v, err := dtype.Float64s(out[0])
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func Near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range got {
		if d := got[i] - want[i]; d > tol || d < -tol || d != d {
			t.Fatalf("%s: element %d is %g, want %g", what, i, got[i], want[i])
		}
	}
}

// Small returns a model with everything that the verbs treat differently: two convolutions, a branch, a
// normalization, a shared parameter and a second output.
func Small(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("small")
	Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "float32[N,3,8,8]")
		y := e.Apply(nn.Sequential{
			layers.Conv{Out: 4, Kernel: []int{3}, Same: true, Name: "stem"}, layers.BatchNorm{Name: "norm"}, layers.ReLU{Name: "act"},
		}, x)
		y = e.Apply(layers.Residual{Body: layers.Conv{Kernel: []int{3}, Same: true, Name: "body"}, Name: "sum"}, y)
		z := e.Apply(nn.Sequential{layers.GlobalAvgPool{Name: "pool"}, layers.Flatten{Name: "flat"}}, y)
		e.Output("features", z)
		e.Output("scores", e.Apply(layers.Softmax{Name: "prob"}, e.Apply(layers.Linear{Out: 10, Name: "fc"}, z)))
	})
	return g
}

// Trained lists weights and statistics.
func Trained(g *nn.Graph) string {
	var list []string
	for p := range g.Params() {
		if p.Role() != nn.Constant {
			list = append(list, p.Name())
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// Sample returns an input of the given type; each open dimension has a different small size.
func Sample(t *testing.T, typ op.Type) *tensor.Dense {
	t.Helper()
	shape, n := typ.Sizes(), 1
	for i, d := range shape {
		if d < 0 {
			shape[i] = 2 + i
		}
		n *= shape[i]
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = float64((i*7919+13)%101)/50 - 1
		if typ.DType.IsInteger() {
			v[i] = float64(i % 4)
		}
	}
	x, err := dtype.FromFloats(typ.DType, v, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// BodyOf returns a subgraph built by f.
func BodyOf(t *testing.T, f func(e *nn.Edit)) *nn.Body {
	t.Helper()
	g := nn.New("body")
	if err := g.Edit(f); err != nil {
		t.Fatal(err)
	}
	return nn.NewBody(g, nil)
}
