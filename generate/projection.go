package generate

import (
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// projection returns the linear layer that ends in a node, and its nodes.
func (r *reader) projection(n *nn.Node) (*layer, []*nn.Node) {
	if x := r.groups[n]; x != nil {
		if c, ok := x.Config.(std.LinearConfig); ok {
			var bias *nn.Value
			if len(x.In) > 2 {
				if bias = x.In[2]; bias == nil {
					return nil, nil
				}
			}
			return r.linear(n, x.In[0], x.In[1], bias, c.TransB), x.Nodes
		}
	}
	if r.groups[n] == nil && (ofStandard(n, "Gemm") || ofStandard(n, "MatMul")) {
		if l := readers[n.Type()](r, n); l != nil {
			if _, ok := l.Layer.(layers.Linear); ok {
				return l, []*nn.Node{n}
			}
		}
	}
	return nil, nil
}

// projectionOf returns the linear layer whose first node n reads v, the node that it ends in, and its nodes.
func (r *reader) projectionOf(v *nn.Value, n *nn.Node) (*layer, *nn.Node, []*nn.Node) {
	end := n
	for last, x := range r.groups {
		if _, ok := x.Config.(std.LinearConfig); ok && x.In[0] == v && slices.Contains(x.Nodes, n) {
			end = last
		}
	}
	l, nodes := r.projection(end)
	if l == nil || l.in[0] != v {
		return nil, nil, nil
	}
	return l, end, nodes
}

// source traces v back through operators that move elements, and products with numbers, to the output of a linear layer.
func (r *reader) source(f *factor, into *[]*nn.Node) bool {
	f.scale = 1
	for v := f.v; v != nil && v.Producer() != nil; {
		n := v.Producer()
		if f.layer, f.nodes = r.projection(n); f.layer != nil {
			f.rows = v
			return true
		}
		x, s, ok := r.scaled(n)
		switch {
		case ok:
			f.scale *= s
		case r.groups[n] == nil && moves(n):
			x = n.In(0)
		default:
			return false
		}
		*into, v = append(*into, n), x
	}
	return false
}

// moves reports whether the elements of a node's output are elements of its first input.
func moves(n *nn.Node) bool {
	t := n.Traits()
	switch t.Moves {
	case trait.Moved, trait.MovedOften, trait.MovedInOrder:
		return n.Out(0) != nil && n.In(0) != nil && n.Out(0).Type().DType == n.In(0).Type().DType
	}
	return t.Picks != nil
}

// scaled returns the input and the factor of a product with, or quotient by, a known number.
func (r *reader) scaled(n *nn.Node) (x *nn.Value, by float64, ok bool) {
	kind := n.Traits().Arithmetic
	if kind != trait.Multiplies && kind != trait.Divides || len(n.Inputs()) != 2 {
		return nil, 0, false
	}
	for i := range 2 {
		if f, ok := r.number(n.In(1 - i)); ok && r.tensor(n.In(i)) == nil && (i == 0 || kind == trait.Multiplies) && f != 0 {
			if kind == trait.Divides {
				f = 1 / f
			}
			return n.In(i), f, true
		}
	}
	return nil, 0, false
}

// number returns a constant of one element.
func (r *reader) number(v *nn.Value) (float64, bool) {
	if v == nil || v.Param() != nil && v.Param().Role() != nn.Constant {
		return 0, false
	}
	t := r.tensor(v)
	if t == nil || t.Shape().TotalSize() != 1 {
		return 0, false
	}
	f, err := dtype.Float64s(t)
	if err != nil || len(f) != 1 {
		return 0, false
	}
	return f[0], true
}

// picked returns columns of a weight, or elements of a bias.
func picked(w *tensor.Dense, columns []int) *tensor.Dense {
	shape := slices.Clone([]int(w.Shape()))
	all := shape[len(shape)-1]
	shape[len(shape)-1] = len(columns)
	d := dtype.New(dtype.Of(w.Dtype()), shape...)
	to, from := dtype.Bytes(d), dtype.Bytes(w)
	if len(to) == 0 {
		return d
	}
	size := len(from) / w.Shape().TotalSize()
	for i := range len(to) / size {
		copy(to[i*size:][:size], from[(i/len(columns)*all+columns[i%len(columns)])*size:])
	}
	return d
}
