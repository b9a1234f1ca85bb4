package step

import (
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// builder writes formulas of update rules as nodes of the edited graph. A number is a float64 value of rank 0.
type builder struct {
	e      *nn.Edit
	prefix string   // of names
	typ    op.DType // of the weight
	rank   int      // of the weight
	casts  map[*nn.Value]*nn.Value
}

// number is a constant without an element type.
type number float64

func (b *builder) Number(x float64) optim.Term { return number(x) }
func (b *builder) Rank() int                   { return b.rank }
func (b *builder) Wide() bool                  { return b.typ == dtype.Float64 }

func (b *builder) Add(x, y optim.Term) optim.Term { return b.two("Add", x, y) }
func (b *builder) Sub(x, y optim.Term) optim.Term { return b.two("Sub", x, y) }
func (b *builder) Mul(x, y optim.Term) optim.Term { return b.two("Mul", x, y) }
func (b *builder) Div(x, y optim.Term) optim.Term { return b.two("Div", x, y) }
func (b *builder) Max(x, y optim.Term) optim.Term { return b.two("Max", x, y) }
func (b *builder) Min(x, y optim.Term) optim.Term { return b.two("Min", x, y) }
func (b *builder) Pow(x, y optim.Term) optim.Term { return b.two("Pow", x, y) }

func (b *builder) Sqrt(x optim.Term) optim.Term { return b.do("Sqrt", b.value(x, dtype.Float64)) }
func (b *builder) Sign(x optim.Term) optim.Term { return b.do("Sign", b.value(x, dtype.Float64)) }

func (b *builder) Where(test, x, y optim.Term) optim.Term {
	t := b.value(test, dtype.Float64)
	v := b.alike(x, y)
	return b.do("Where", b.do("Greater", t, b.constant(typeOf(t), 0)), v[0], v[1])
}

// Mean implements optim.Builder; axes are negative, counted from the last.
func (b *builder) Mean(x optim.Term, axes ...int) optim.Term {
	v := b.value(x, dtype.Float64)
	if len(axes) == 0 {
		return b.toNumber(b.node(std.ReduceMeanConfig{KeepDims: new(bool)}, v))
	}
	return b.node(std.ReduceMeanConfig{}, v, b.ints(axes...))
}

func (b *builder) Sum(x optim.Term) optim.Term {
	return b.toNumber(b.node(std.ReduceSumConfig{KeepDims: new(bool)}, b.value(x, dtype.Float64)))
}

func (b *builder) toNumber(v *nn.Value) *nn.Value { return b.cast(v, dtype.Float64) }

// two applies a binary operator; a number takes the element type of the tensor operand.
func (b *builder) two(name string, x, y optim.Term) optim.Term {
	v := b.alike(x, y)
	return b.do(name, v[0], v[1])
}

func (b *builder) alike(x, y optim.Term) [2]*nn.Value {
	t := dtype.Float64
	for _, a := range []optim.Term{x, y} {
		if v, ok := a.(*nn.Value); ok && typeOf(v) != dtype.Float64 {
			t = typeOf(v)
		}
	}
	return [2]*nn.Value{b.value(x, t), b.value(y, t)}
}

// value returns a term as a value; a number gets the element type t.
func (b *builder) value(x optim.Term, t op.DType) *nn.Value {
	switch x := x.(type) {
	case number:
		return b.constant(t, float64(x))
	case *nn.Value:
		if x != nil && typeOf(x) == dtype.Float64 && t != dtype.Float64 {
			return b.cast(x, t)
		}
		return x
	}
	return nil
}

func typeOf(v *nn.Value) op.DType {
	if v == nil {
		return dtype.Undefined
	}
	return v.Type().DType
}

// constant returns a number of rank 0.
func (b *builder) constant(t op.DType, x float64) *nn.Value {
	d, err := dtype.FromFloats(t, []float64{x})
	if err != nil {
		b.e.Fail(err)
		return nil
	}
	return b.keep(d)
}

func (b *builder) keep(d *tensor.Dense) *nn.Value { return b.e.Const(b.e.New(b.prefix+"const"), d) }

func (b *builder) ints(v ...int) *nn.Value { return b.e.Ints(b.e.New(b.prefix+"axes"), v...) }

func (b *builder) cast(v *nn.Value, t op.DType) *nn.Value {
	if b.e.Err() != nil || typeOf(v) == t {
		return v
	}
	if c := b.casts[v]; typeOf(c) == t {
		return c
	}
	c := b.node(std.CastConfig{To: t}, v)
	if b.casts != nil {
		b.casts[v] = c
	}
	return c
}

func (b *builder) do(name string, in ...*nn.Value) *nn.Value { return b.node(op.Plain(name), in...) }

func (b *builder) node(c op.Config, in ...*nn.Value) *nn.Value {
	if b.e.Err() != nil {
		return nil
	}
	for _, v := range in {
		if v == nil {
			b.e.Failf("a term of an update rule is missing")
			return nil
		}
	}
	return b.e.Node(c, in...).Out(0)
}
