package contrib

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// padding is a mask of keys: a number, the filter, is added to the scores of masked keys.
type padding struct {
	batch, queries, keys op.Dim
	past                 op.Dim // keys in front of the first query
	filter               float64
	like                 value // has the element type of the scores
}

// ofLengths hides keys from ends on, and those before starts if they are there; both are [B].
func (p padding) ofLengths(e *expression, ends, starts value) value {
	column := e.reshape(e.counting(p.keys), op.D(1), op.D(1), op.D(1), p.keys)
	limit := func(v value) value {
		return e.cast(e.reshape(v, p.batch, op.D(1), op.D(1), op.D(1)), dtype.Int64)
	}
	seen := e.do(op.Plain("Less"), column, limit(ends))
	if starts.there() {
		seen = e.do(op.Plain("And"), seen, e.do(op.Plain("GreaterOrEqual"), column, limit(starts)))
	}
	return e.where(p.like, seen, 0, p.filter)
}

// ofFlags hides keys whose flag is not positive; flags spread to [B, 1, queries, keys].
func (p padding) ofFlags(e *expression, flags value, shape ...op.Dim) value {
	zero := e.constant(dtype.FromInts(flags.typ.DType, []int{0}))
	return e.where(p.like, e.do(op.Plain("Greater"), e.reshape(flags, shape...), zero), 0, p.filter)
}

// of returns what mask i adds to the scores, absent without mask. Its forms: lengths [B]; ends and first keys
// [2·B]; lengths and cumulative lengths [3·B+2]; flags [B, keys], [B, queries, keys] or for all positions [B, 1, M, M].
func (p padding) of(e *expression, i int, mask value) value {
	if !mask.there() || e.err != nil {
		return value{}
	}
	s, one := mask.typ.Shape, op.D(1)
	packed := p.batch.Mul(op.D(3)).Add(op.D(2))
	switch {
	case len(s) == 1 && !s[0].Differ(p.batch):
		return p.ofLengths(e, mask, value{})
	case len(s) == 1 && !s[0].Differ(p.batch.Mul(op.D(2))):
		return p.ofLengths(e, e.part(mask, 0, op.D(0), p.batch), e.part(mask, 0, p.batch, p.batch))
	case len(s) == 1 && !s[0].Differ(packed):
		return p.ofLengths(e, e.part(mask, 0, op.D(0), p.batch), value{})
	case fits(s, []op.Dim{p.batch, p.keys}):
		return p.ofFlags(e, mask, p.batch, one, one, p.keys)
	case fits(s, []op.Dim{p.batch, p.queries, p.keys}):
		return p.ofFlags(e, mask, p.batch, one, p.queries, p.keys)
	case len(s) == 4 && fits(s[:2], []op.Dim{p.batch, one}) && !s[2].Differ(s[3]):
		rows := e.part(mask, 2, p.past, p.queries)
		return p.ofFlags(e, e.part(rows, 3, op.D(0), p.keys), p.batch, one, p.queries, p.keys)
	}
	e.failf("input %s: want lengths [%v], [%v] or [%v] or flags [%v,%v], [%v,%v,%v] or [%v,1,M,M], got %v", e.c.InputName(i),
		p.batch, p.batch.Mul(op.D(2)), packed, p.batch, p.keys, p.batch, p.queries, p.keys, p.batch, mask.typ)
	return value{}
}

// scoreBias checks the bias of the scores, input i, [B, N, queries, keys].
func (e *expression) scoreBias(i int, v value, batch, n, queries, keys op.Dim) value {
	if !v.there() || e.err != nil {
		return v
	}
	s := v.typ.Shape
	if len(s) == 4 && s[0] == op.D(1) {
		batch = op.D(1)
	}
	if len(s) == 4 && s[1] == op.D(1) {
		n = op.D(1)
	}
	e.shape(i, batch, n, queries, keys)
	return v
}
