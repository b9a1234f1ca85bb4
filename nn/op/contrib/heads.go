package contrib

import (
	"math"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// heads are the operands of an attention: queries [B, N, S, H], keys [B, G, T, H] and values [B, G, T, W], where N is a
// multiple of G: each key head serves N/G query heads that follow each other.
type heads struct {
	q, k, v value
	scale   float64 // of the scores; 0: 1/√H
	softcap float64 // c·tanh(scores/c); 0: none
	bias    value   // added to the scores, of a shape that spreads to [B, N, S, T]; may be absent
	sink    value   // a score [1, N, 1, 1] of a key without value that every query sees; may be absent
	scores  bool    // scores or probabilities are wanted
}

// whole reports whether one operator of lowerings computes all of it.
func (h heads) whole(e *expression) bool {
	return e.g != nil && !e.c.Keep && !h.scores && h.softcap == 0 && !h.sink.there() && h.q.dim(1) == h.k.dim(1)
}

// attended are the results of an attention.
type attended struct {
	y      value // [B, S, N·W]
	raw    value // scores before softcap and bias, [B, N, S, T]
	scores value // those that the softmax takes
	prob   value // the probabilities
}

// attend is softmax(scale·q·kᵀ + bias)·v for each head.
func (e *expression) attend(h heads) (a attended) {
	b, n, s, d := h.q.dim(0), h.q.dim(1), h.q.dim(2), h.q.dim(3)
	g, t := h.k.dim(1), h.k.dim(2)
	if h.scale == 0 && e.g != nil {
		h.scale = 1 / math.Sqrt(float64(d.Size))
	}
	if e.err == nil && h.whole(e) {
		return attended{y: e.wholeAttention(h)}
	}
	q, rows, grouped := h.q, s, n != g
	if grouped { // queries that share a key head are rows of one product
		rows = n.Div(g).Mul(s)
		q = e.reshape(q, b, g, rows, d)
	}
	a.raw = e.do(op.Plain("MatMul"), e.scale(q, h.scale), e.transpose(h.k, 0, 1, 3, 2))
	if grouped {
		a.raw = e.reshape(a.raw, b, n, s, t)
	}
	if a.scores = a.raw; h.softcap != 0 {
		a.scores = e.scale(e.do(op.Plain("Tanh"), e.scale(a.raw, 1/h.softcap)), h.softcap)
	}
	if h.bias.there() {
		a.scores = e.add(a.scores, h.bias)
	}
	a.prob = e.softmax(a.scores, h.sink)
	prob := a.prob
	if grouped {
		prob = e.reshape(prob, b, g, rows, t)
	}
	y := e.do(op.Plain("MatMul"), prob, h.v)
	if grouped {
		y = e.reshape(y, b, n, s, h.v.dim(3))
	}
	a.y = e.joined(y)
	return a
}

// wholeAttention is attend in one operator, which reads heads where they are.
func (e *expression) wholeAttention(h heads) value {
	c := std.HeadAttentionConfig{Scale: h.scale, RowsQ: h.q.rows != nil, RowsK: h.k.rows != nil, RowsV: h.v.rows != nil, RowsY: true}
	in := []value{h.q, h.k, h.v}
	for i, v := range in {
		if v.rows != nil {
			in[i] = *v.rows
		}
	}
	if h.bias.there() {
		in = append(in, h.bias)
	}
	y := e.do(c, in...)
	return e.reshape(y, y.dim(0), y.dim(1), y.dim(2).Mul(y.dim(3)))
}

// softmax runs over the last axis; sink, if it is there, counts in the sum as one more score.
func (e *expression) softmax(x, sink value) value {
	if !sink.there() {
		return e.do(std.SoftmaxConfig{}, x)
	}
	t := x.dim(-1)
	column := e.expand(sink, x.dim(0), x.dim(1), x.dim(2), op.D(1))
	all := e.do(std.SoftmaxConfig{}, e.do(std.ConcatConfig{Axis: 3}, x, column))
	return e.part(all, 3, op.D(0), t)
}

// split takes the heads of rows [B, S, N·H] apart: [B, N, S, H].
func (e *expression) split(x value, n int) value {
	if e.err != nil {
		return value{}
	}
	width := x.dim(2).Div(op.D(n))
	if width.Mul(op.D(n)).Differ(x.dim(2)) {
		e.failf("cannot cut %v into %d heads", x.typ, n)
	}
	rows := e.reshape(x, x.dim(0), x.dim(1), op.D(n), width)
	y := e.transpose(rows, 0, 2, 1, 3)
	y.rows = &rows
	return y
}

// joined undoes split.
func (e *expression) joined(x value) value {
	return e.reshape(e.transpose(x, 0, 2, 1, 3), x.dim(0), x.dim(2), x.dim(1).Mul(x.dim(3)))
}

// need refuses a call without inputs that are optional but required here.
func (e *expression) need(inputs ...int) {
	for _, i := range inputs {
		if !e.c.Has(i) {
			e.failf("input %s: want a value, got nothing", e.c.InputName(i))
		}
	}
}

// rank refuses an input, unless it is absent, whose rank is none of those given.
func (e *expression) rank(i int, ranks ...int) {
	if !e.c.Has(i) {
		return
	}
	for _, r := range ranks {
		if len(e.c.In[i].Shape) == r {
			return
		}
	}
	if len(ranks) == 1 {
		e.failf("input %s: want rank %d, got %v", e.c.InputName(i), ranks[0], e.c.In[i])
		return
	}
	e.failf("input %s: want one of the ranks %v, got %v", e.c.InputName(i), ranks, e.c.In[i])
}

// shape refuses an input, unless it is absent, that has not the given dimensions; unknown ones fit.
func (e *expression) shape(i int, want ...op.Dim) {
	if e.err == nil && e.c.Has(i) && !fits(e.c.In[i].Shape, want) {
		e.failf("input %s: want %v, got %v", e.c.InputName(i), e.c.In[i].With(want...), e.c.In[i])
	}
}

func fits(shape, want []op.Dim) bool {
	if len(shape) != len(want) {
		return false
	}
	for a, d := range want {
		if d.Differ(shape[a]) {
			return false
		}
	}
	return true
}

// part is v along an axis from index from on, size indices; symbols are kept while types are inferred.
func (e *expression) part(v value, axis int, from, size op.Dim) value {
	if e.err != nil {
		return value{}
	}
	if d := v.dim(axis); from.Add(size).Known() && d.Known() && from.Size+size.Size > d.Size {
		e.failf("%v has no elements %v to %v along axis %d", v.typ, from, from.Add(size), axis)
		return value{}
	}
	if e.g == nil {
		shape := append([]op.Dim{}, v.typ.Shape...)
		shape[axis] = size
		return value{typ: v.typ.With(shape...)}
	}
	if from.Size == 0 && size.Size == v.dim(axis).Size {
		return v
	}
	return e.slice(v, axis, from.Size, from.Size+size.Size)
}

// expand repeats v along dimensions of length 1 and in front.
func (e *expression) expand(v value, shape ...op.Dim) value {
	if e.err != nil {
		return value{}
	}
	if e.g == nil {
		return value{typ: v.typ.With(shape...)}
	}
	n, err := e.c.ExpandTo(v.node, shape...)
	if err != nil {
		e.fail(err)
		return value{}
	}
	return value{typ: op.NodeType(n), node: n}
}

// indices returns the numbers f(0), f(1) … as int64[n].
func (e *expression) indices(n op.Dim, f func(i int) int) value {
	if e.g == nil || e.err != nil {
		return value{typ: op.T(dtype.Int64, n)}
	}
	v := make([]int, n.Size)
	for i := range v {
		v[i] = f(i)
	}
	return e.ints(v...)
}

// counting is 0, 1, 2 … as int64[n].
func (e *expression) counting(n op.Dim) value { return e.indices(n, func(i int) int { return i }) }

// table returns the matrix of f(i, j) with the element type of like.
func (e *expression) table(like value, rows, cols op.Dim, f func(i, j int) float64) value {
	if e.g == nil || e.err != nil {
		return value{typ: like.typ.With(rows, cols)}
	}
	v := make([]float64, rows.Size*cols.Size)
	for i := range v {
		v[i] = f(i/cols.Size, i%cols.Size)
	}
	return e.constant(dtype.FromFloats(like.typ.DType, v, rows.Size, cols.Size))
}

// hidden returns the number that is added to masked scores: the lowest of the element type.
func hidden(t op.DType) float64 {
	switch t {
	case dtype.Float16:
		return -65504
	case dtype.Float64:
		return -math.MaxFloat64
	case dtype.BFloat16:
		return -3.38953138925153547590470800371487866880e+38
	}
	return -math.MaxFloat32
}

// causal is added to scores of which query i sees the keys up to past+i.
func (e *expression) causal(like value, queries, keys, past op.Dim) value {
	return e.table(like, queries, keys, func(i, j int) float64 {
		if j > past.Size+i {
			return hidden(like.typ.DType)
		}
		return 0
	})
}

// sum adds the values that are present.
func (e *expression) sum(list ...value) (s value) {
	for _, v := range list {
		switch {
		case !s.there():
			s = v
		case v.there():
			s = e.add(s, v)
		}
	}
	return s
}

// where picks a number by a condition, with the element type of like.
func (e *expression) where(like, condition value, yes, no float64) value {
	return e.do(op.Plain("Where"), condition, e.number(like, yes), e.number(like, no))
}
