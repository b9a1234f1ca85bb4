package engine

import (
	"fmt"
	"hash"
	"math/rand"
	"sync/atomic"
	"testing"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/nn/dtype"
)

var f32 = tensor.Float32

// toy is an own operation: a core, which of its outputs, and a gradient if it has one.
type toy struct {
	core *Core
	in   []hm.Type
	i    int
	diff func(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error)
	id   uint32
}

var toys atomic.Uint32

func typeOf(s Spec) hm.Type {
	if len(s.Shape) == 0 {
		return s.DType
	}
	return gorgonia.TensorType{Dims: len(s.Shape), Of: s.DType}
}

func (o *toy) Core() *Core { return o.core }
func (o *toy) Output() int { return o.i }
func (o *toy) Arity() int  { return len(o.in) }
func (o *toy) Type() hm.Type {
	return hm.NewFnType(append(append([]hm.Type{}, o.in...), typeOf(o.core.Out[o.i]))...)
}
func (o *toy) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return o.core.Out[o.i].Shape.Clone(), nil
}
func (o *toy) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	out, err := Do(o.core, in)
	if err != nil {
		return nil, err
	}
	return out[o.i], nil
}
func (o *toy) ReturnsPtr() bool      { return false }
func (o *toy) CallsExtern() bool     { return false }
func (o *toy) OverwritesInput() int  { return -1 }
func (o *toy) WriteHash(h hash.Hash) { fmt.Fprintf(h, "toy%d", o.id) }
func (o *toy) Hashcode() uint32      { return o.id }
func (o *toy) String() string        { return o.core.Name }
func (o *toy) DiffWRT(n int) []bool {
	w := make([]bool, n)
	for i := range w {
		w[i] = o.diff != nil
	}
	return w
}
func (o *toy) SymDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	return o.diff(in, out, grad)
}

// apply makes the nodes for all outputs of a core.
func apply(t testing.TB, c *Core, diff func(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error), in ...*gorgonia.Node) []*gorgonia.Node {
	t.Helper()
	var types []hm.Type
	for _, n := range in {
		types = append(types, n.Type())
	}
	out := make([]*gorgonia.Node, len(c.Out))
	for i := range c.Out {
		n, err := gorgonia.ApplyOp(&toy{core: c, in: types, i: i, diff: diff, id: toys.Add(1)}, in...)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = n
	}
	return out
}

// floats makes a float32 core of one output that maps input rows to the output.
func floats(name string, shape tensor.Shape, f func(out []float32, in ...[]float32)) *Core {
	return &Core{Name: name, Out: []Spec{{f32, shape}}, Kernel: func(_ *Exec, out, in []*tensor.Dense) error {
		var args [8][]float32
		for i, d := range in {
			if d != nil {
				args[i] = dtype.Slice[float32](d)
			}
		}
		f(dtype.Slice[float32](out[0]), args[:len(in)]...)
		return nil
	}}
}

func scale(name string, shape tensor.Shape, by float32) *Core {
	c := floats(name, shape, func(out []float32, in ...[]float32) {
		for i, x := range in[0] {
			out[i] = by * x
		}
	})
	c.InPlace = []int{0}
	return c
}

func reshape(shape ...int) *Core {
	c := floats("reshape", shape, func(out []float32, in ...[]float32) { copy(out, in[0]) })
	c.View = true
	return c
}

func input(g *gorgonia.ExprGraph, name string, v *tensor.Dense) *gorgonia.Node {
	if len(v.Shape()) == 0 {
		return gorgonia.NewScalar(g, v.Dtype(), gorgonia.WithName(name), gorgonia.WithValue(toScalar(v)))
	}
	return gorgonia.NewTensor(g, v.Dtype(), len(v.Shape()), gorgonia.WithShape(v.Shape()...), gorgonia.WithName(name), gorgonia.WithValue(v))
}

func random(r *rand.Rand, shape ...int) *tensor.Dense {
	d := dtype.New(dtype.Float32, shape...)
	for i := range dtype.Slice[float32](d) {
		dtype.Slice[float32](d)[i] = float32(r.NormFloat64())
	}
	return d
}

func compile(t testing.TB, roots ...*gorgonia.Node) *Program {
	t.Helper()
	p, err := Compile(Options{}, roots...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func run(t testing.TB, p *Program) {
	t.Helper()
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func slice(t testing.TB, v gorgonia.Value) []float32 {
	t.Helper()
	d, ok := v.(*tensor.Dense)
	if !ok {
		t.Fatalf("value is a %T", v)
	}
	return dtype.Slice[float32](d)
}
