package nn

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// The constants of Gorgonia's products.
const (
	matMul = iota
	matVecMul
	vecDot
	outerProd
	batchedMatMul
)

// productRule translates matrix products. Gorgonia treats (n,1) and (1,n) as vectors, so vectors are flattened first.
func productRule(s *Site) *Value {
	a, b := s.In(0), s.In(1)
	ta, tb := s.Bool("transA"), s.Bool("transB")
	switch s.Int(productField) {
	case matMul:
		if ta || tb {
			return s.Node(std.GemmConfig{TransA: ta, TransB: tb}, a.Value(), b.Value())
		}
		return s.Node(op.Plain("MatMul"), a.Value(), b.Value())
	case matVecMul:
		return s.Node(op.Plain("MatMul"), a.turned(ta), b.flat())
	case vecDot:
		return s.Node(op.Plain("MatMul"), a.flat(), b.flat())
	case outerProd:
		col := []size{total(a.shape(), s.t.count()), s.t.fixed(1)}
		return s.Node(op.Plain("Mul"), s.reshape(a.Value(), a.shape(), col), b.flat())
	case batchedMatMul:
		return s.Node(op.Plain("MatMul"), a.turned(ta), b.turned(tb))
	}
	return s.Refuse("")
}

// turned returns the site's value, with its last two axes exchanged if requested.
func (s *Site) turned(yes bool) *Value {
	v := s.Value()
	r := len(s.at[0].Shape())
	if !yes {
		return v
	}
	perm := make([]int, r)
	for i := range perm {
		perm[i] = i
	}
	perm[r-1], perm[r-2] = r-2, r-1
	return s.Node(std.TransposeConfig{Perm: perm}, v)
}

// flat returns the site's value as a vector.
func (s *Site) flat() *Value {
	return s.reshape(s.Value(), s.shape(), []size{total(s.shape(), s.t.count())})
}

// reduce adds a sum or maximum along axes, which are removed.
func (s *Site) reduce(name string, x *Value) *Value {
	keep := false
	axes := s.Ints("along")
	list := make([]size, len(axes))
	for i, a := range axes {
		list[i] = s.t.fixed(a)
	}
	var c op.Config
	switch name {
	case "ReduceSum":
		c = std.ReduceSumConfig{KeepDims: &keep}
	case "ReduceMax":
		c = std.ReduceMaxConfig{KeepDims: &keep}
	default:
		c = std.ReduceMeanConfig{KeepDims: &keep}
	}
	return s.Node(c, x, s.vector(list))
}

// reshapeRule keeps dimensions that depend on symbols symbolic.
func reshapeRule(s *Site) *Value {
	x := s.In(0)
	from, to := x.shape(), s.sizes("to")
	if s.t.samples == 1 {
		to = s.aligned(from, s.Ints("to"))
	}
	if s.t.e.err != nil {
		return nil
	}
	return s.reshape(x.Value(), from, to)
}

// aligned returns the target of a reshape of which only one size is known, while the input's shape is symbolic: leading
// dimensions that equal the input's are kept, and one that does not becomes −1.
func (s *Site) aligned(from []size, to []int) []size {
	out := make([]size, len(to))
	for k, n := range to {
		out[k] = s.t.fixed(n)
	}
	if allConstant(from) {
		return out
	}
	now := s.In(0).at[0].Shape()
	for k := range min(len(out), len(now)) {
		if now[k] != to[k] {
			break
		}
		out[k] = from[k]
	}
	whole := total(from, s.t.count())
	if slices.Equal(whole, total(out, s.t.count())) {
		return out
	}
	for k := len(out) - 1; k >= 0; k-- {
		rest := total(append(slices.Clone(out[:k]), out[k+1:]...), s.t.count())
		if d, ok := quotient(whole, rest); ok {
			out[k] = d
			return out
		}
	}
	return out
}

// quotient returns a / b if it is an integer at all sample points.
func quotient(a, b size) (size, bool) {
	out := make(size, len(a))
	for i := range a {
		if b[i] == 0 || a[i]%b[i] != 0 {
			return nil, false
		}
		out[i] = a[i] / b[i]
	}
	return out, true
}

// repeatRule translates a repetition that is equivalent to a broadcast.
func repeatRule(s *Site) *Value {
	x, axis := s.In(0), s.Int("along")
	from, to := x.shape(), s.shapeOf(nil)
	for len(from) > 0 && len(from) < len(to) {
		from = append(from, s.t.fixed(1))
	}
	if axis >= len(to) || len(from) > 0 && !dim1(from[axis]) {
		return s.Refuse("of more than one element")
	}
	if s.t.samples == 1 {
		if d := s.In(1); d.goType() == "gorgonia.sizeOp" {
			to = slices.Clone(to)
			copy(to, from)
			to[axis] = d.In(0).shape()[d.Int("axis")]
		}
	}
	return s.Node(op.Plain("Expand"), s.reshape(x.Value(), x.shape(), from), s.vector(to))
}

// sizeRule translates SizeOf, which returns a size in the element type of its input.
func sizeRule(s *Site) *Value {
	d := s.In(0).shape()[s.Int("axis")]
	t := op.NodeType(s.at[0]).DType
	if d.constant() {
		return s.t.e.Const(s.t.constName(), scalarOf(s, float64(d[0])))
	}
	v := s.Node(std.SqueezeConfig{}, s.length(d), s.vector([]size{s.t.fixed(0)}))
	if t != dtype.Int64 {
		v = s.Node(std.CastConfig{To: t}, v)
	}
	return v
}
