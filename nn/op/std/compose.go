package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// compose builds the expression of a composite operator. It keeps the first error, after
// which every step returns nil.
type compose struct {
	call *op.Call // whose operators and context it uses
	g    *gorgonia.ExprGraph
	err  error
}

// composeOn builds on the graph of the first input that is there.
func composeOn(c *op.Call, in gorgonia.Nodes) *compose {
	for _, n := range in {
		if n != nil {
			return &compose{call: c, g: n.Graph()}
		}
	}
	return &compose{call: c, g: gorgonia.NewGraph()}
}

// do applies an operator. nil is an absent input.
func (b *compose) do(cfg op.Config, in ...*gorgonia.Node) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	n, err := b.call.Apply1(cfg, in...)
	b.err = err
	return n
}

func (b *compose) try(n *gorgonia.Node, err error) *gorgonia.Node {
	if b.err == nil {
		b.err = err
	}
	return n
}

func (b *compose) reshape(n *gorgonia.Node, shape ...op.Dim) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	return b.try(b.call.ReshapeTo(n, shape...))
}

func (b *compose) expand(n *gorgonia.Node, shape ...op.Dim) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	return b.try(b.call.ExpandTo(n, shape...))
}

func (b *compose) transpose(n *gorgonia.Node, perm ...int) *gorgonia.Node {
	return b.do(TransposeConfig{Perm: perm}, n)
}

func (b *compose) scale(n *gorgonia.Node, f float64) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	return b.try(scaleBy(b.call, n, f))
}

// cast changes the element type, if it is another.
func (b *compose) cast(n *gorgonia.Node, t op.DType) *gorgonia.Node {
	if b.err != nil || dtype.Of(n.Dtype()) == t {
		return n
	}
	return b.do(CastConfig{To: t}, n)
}

func (b *compose) split(n *gorgonia.Node, axis int, sizes ...int) gorgonia.Nodes {
	if b.err == nil {
		var parts gorgonia.Nodes
		if parts, b.err = splitAt(b.call, n, axis, sizes); b.err == nil {
			return parts
		}
	}
	return make(gorgonia.Nodes, len(sizes))
}

func (b *compose) concat(axis int, parts ...*gorgonia.Node) *gorgonia.Node {
	return b.do(ConcatConfig{Axis: axis}, parts...)
}

func (b *compose) constant(v dtype.Value, err error) *gorgonia.Node {
	if b.err == nil {
		b.err = err
	}
	if b.err != nil {
		return nil
	}
	return b.try(op.Const(b.g, v))
}

// number returns a constant of rank 0.
func (b *compose) number(t op.DType, x float64) *gorgonia.Node {
	return b.constant(dtype.FromFloats(t, []float64{x}))
}

// counting returns a constant int64 tensor of the numbers from 0 on.
func (b *compose) counting(shape ...int) *gorgonia.Node {
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(i)
	}
	return b.constant(dtype.FromSlice(v, shape...))
}

// fill returns a constant tensor of equal elements.
func (b *compose) fill(t op.DType, x float64, shape ...int) *gorgonia.Node {
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = x
	}
	return b.constant(dtype.FromFloats(t, v, shape...))
}

// results returns the outputs of a composite: an input that is returned as an output gets a separate node.
func (b *compose) results(in gorgonia.Nodes, out ...*gorgonia.Node) (gorgonia.Nodes, error) {
	for i, n := range out {
		for _, x := range in {
			if n != nil && n == x {
				out[i] = b.do(op.Plain("Identity"), n)
			}
		}
	}
	return out, b.err
}
