package contrib

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// MultiHeadAttentionConfig has the attributes of MultiHeadAttention.
type MultiHeadAttentionConfig struct {
	MaskFilter     *float32 `onnx:"mask_filter_value"`  // nil: −10000
	NumHeads       int      `onnx:"num_heads,required"` // at least 1
	Scale          *float32 `onnx:"scale"`              // nil or 0: 1/√head size
	Unidirectional bool     `onnx:"unidirectional"`     // a query only attends to keys up to its own position
}

// Operator names the operator.
func (MultiHeadAttentionConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "MultiHeadAttention"}
}

// DecoderMaskedMultiHeadAttentionConfig has the attributes of DecoderMaskedMultiHeadAttention.
type DecoderMaskedMultiHeadAttentionConfig struct {
	MaskFilter  *float32 `onnx:"mask_filter_value"`         // nil: −10000
	NumHeads    int      `onnx:"num_heads,required"`        // at least 1
	OutputQK    bool     `onnx:"output_qk"`                 // the scores are an output
	ShareBuffer bool     `onnx:"past_present_share_buffer"` // past and present share a buffer
	Scale       *float32 `onnx:"scale"`                     // nil or 0: 1/√head size
}

// Operator names the operator.
func (DecoderMaskedMultiHeadAttentionConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "DecoderMaskedMultiHeadAttention"}
}

const headsPinned = "the number of heads is an attribute"

func multiHeadAttention() *op.Op {
	return composed(op.Op{Name: "MultiHeadAttention", Cost: counted, Doc: "Attention of queries, keys and values that are given, together or apart, with masks of all forms and a cache.",
		In: "query T, key? T, value? T, bias? T weight, key_padding_mask? M, attention_bias? T, past_key? T, past_value? T, " +
			"past_sequence_length? M shape, cache_indirection? M",
		Out: "output T, present_key? T, present_value? T, qk? T", Where: op.Where{"T": op.Floats(), "M": {dtype.Int32}},
		Attrs: MultiHeadAttentionConfig{}, Pinned: headsPinned},
		func(e *expression, in []value) []value {
			c := e.c.Config.(MultiHeadAttentionConfig)
			m := manyHeads{n: c.NumHeads, scale: or(c.Scale, 0), filter: or(c.MaskFilter, -10000), causal: c.Unidirectional, packedRank: 5,
				shared: in[8].there(), bias: 3, mask: 4, scores: 5, past: 6, length: 8, beams: 9}
			return m.outputs(e, in, value{})
		})
}

func decoderMaskedMultiHeadAttention() *op.Op {
	return composed(op.Op{Name: "DecoderMaskedMultiHeadAttention", Cost: counted, Doc: "MultiHeadAttention of one query, for decoders; keys and values may come from several beams.",
		In: "query T, key? T, value? T, mask_index? M, attention_bias? T, past_key? T, past_value? T, past_sequence_length? M shape, " +
			"beam_width? M shape, cache_indirection? M, bias? T weight",
		Out: "output T, present_key? T, present_value? T, qk? T", Where: op.Where{"T": op.Floats(), "M": {dtype.Int32}},
		Attrs: DecoderMaskedMultiHeadAttentionConfig{}, Pinned: headsPinned},
		func(e *expression, in []value) []value {
			c := e.c.Config.(DecoderMaskedMultiHeadAttentionConfig)
			m := manyHeads{n: c.NumHeads, scale: or(c.Scale, 0), filter: or(c.MaskFilter, -10000), packedRank: 3,
				shared: c.ShareBuffer, mask: 3, scores: 4, past: 5, length: 7, beams: 9, bias: 10}
			if e.rank(0, 3); e.err == nil && in[0].dim(1).Differ(op.D(1)) {
				e.failf("input query: want a sequence of length 1, got %v", in[0].typ)
			}
			return m.outputs(e, in, in[8])
		})
}

// manyHeads holds what the operators have in common: attributes, and the positions of their inputs.
type manyHeads struct {
	n              int
	scale, filter  float64
	causal, shared bool
	packedRank     int // of a query that has keys and values in it

	bias, mask, scores, past, length, beams int
}

// outputs returns the rows, the next cache and the scores.
func (m manyHeads) outputs(e *expression, in []value, width value) []value {
	none := make([]value, 4)
	if m.n < 1 {
		e.failf("num_heads is %d, want 1 or more", m.n)
	}
	if in[m.past].there() != in[m.past+1].there() {
		e.failf("past_key and past_value come together or not at all")
	}
	if m.shared && in[m.past].there() != in[m.length].there() {
		e.failf("a cache with room needs past_sequence_length")
	}
	q, k, v := m.operands(e, in)
	if e.err != nil {
		return none
	}
	batch, n := q.dim(0), op.D(m.n)
	c := cache{rows: k.dim(2), kept: op.D(0)}
	if in[m.past].there() {
		e.shape(m.past, batch, n, op.Unknown(), k.dim(3))
		e.shape(m.past+1, batch, n, in[m.past].dim(2), v.dim(3))
		c.load(e, in[m.past], in[m.past+1], m.shared, m.length)
	}
	allK, allV, nextK, nextV := c.append(e, k, v)
	if in[m.beams].there() {
		if c.k.there() {
			allK, allV = m.ofBeams(e, c, in[m.beams], c.k, k), m.ofBeams(e, c, in[m.beams], c.v, v)
		} else {
			e.failf("cache_indirection needs past_key")
		}
	}
	if width.there() && !in[m.beams].there() {
		if w, err := e.c.Ints(8); err != nil {
			e.fail(err)
		} else if len(w) != 1 || w[0] > 1 {
			e.failf("beam_width %v needs cache_indirection", w)
		}
	}
	keys := c.kept.Add(c.rows)
	pad := padding{batch: batch, queries: q.dim(2), keys: keys, past: c.kept, filter: m.filter, like: q}
	bias := pad.of(e, m.mask, in[m.mask])
	if m.causal {
		bias = e.sum(bias, e.causal(q, q.dim(2), keys, c.kept))
	}
	bias = e.sum(bias, e.scoreBias(m.scores, in[m.scores], batch, n, q.dim(2), keys))
	if e.err != nil {
		return none
	}
	a := e.attend(heads{q: q, k: allK, v: allV, scale: m.scale, bias: bias, scores: e.c.Wants(3)})
	return []value{a.y, nextK, nextV, a.scores}
}

// operands returns queries, keys and values, [B, N, rows, H], with the bias of their projections added.
func (m manyHeads) operands(e *expression, in []value) (q, k, v value) {
	query, key, val := in[0], in[1], in[2]
	if e.rank(0, 3, 5); e.err != nil {
		return
	}
	var parts [3]value
	switch {
	case key.there():
		e.rank(0, 3)
		if parts[0] = query; len(key.typ.Shape) == 5 {
			parts[1], parts[2] = m.unpack(e, 1, key, 2, 0), m.unpack(e, 1, key, 2, 1)
			if val.there() {
				e.failf("key has the values in it, and there is an input value")
			}
			break
		}
		e.rank(1, 3, 4, 5)
		if parts[1], parts[2] = key, val; !val.there() {
			e.failf("input value: want a value, got nothing")
		} else {
			e.rank(2, len(key.typ.Shape))
		}
	case val.there():
		e.failf("input key: want a value, got nothing")
	case len(query.typ.Shape) != m.packedRank:
		e.failf("input query: without key and value it has them in it and is of rank %d, got %v", m.packedRank, query.typ)
	case m.packedRank == 3:
		third := query.dim(2).Div(op.D(3))
		for i := range parts {
			parts[i] = e.part(query, 2, third.Mul(op.D(i)), third)
		}
	default:
		for i := range parts {
			parts[i] = m.unpack(e, 0, query, 3, i)
		}
	}
	if e.err != nil {
		return
	}
	from := op.D(0)
	for i, p := range parts {
		if in[m.bias].there() && len(p.typ.Shape) == 3 {
			if e.rank(m.bias, 1); e.err == nil {
				parts[i] = e.add(p, e.part(in[m.bias], 0, from, p.dim(2)))
			}
			from = from.Add(p.dim(2))
		}
		if len(p.typ.Shape) == 3 {
			parts[i] = e.split(parts[i], m.n)
		}
	}
	if q, k, v = parts[0], parts[1], parts[2]; e.err == nil {
		m.check(e, q, k, v)
	}
	return
}

// check compares queries, keys and values.
func (m manyHeads) check(e *expression, q, k, v value) {
	n := op.D(m.n)
	if !fits(k.typ.Shape, []op.Dim{q.dim(0), n, op.Unknown(), q.dim(3)}) || !fits(v.typ.Shape, []op.Dim{q.dim(0), n, k.dim(2), op.Unknown()}) {
		e.failf("queries %v, keys %v and values %v do not fit", q.typ, k.typ, v.typ)
	}
}

// unpack is tensor i of those that share [B, rows, N, count, H], as rows.
func (m manyHeads) unpack(e *expression, slot int, x value, count, i int) value {
	if e.shape(slot, op.Unknown(), op.Unknown(), op.D(m.n), op.D(count), op.Unknown()); e.err != nil {
		return value{}
	}
	return e.reshape(e.part(x, 3, op.D(i), op.D(1)), x.dim(0), x.dim(1), x.dim(2).Mul(x.dim(4)))
}

// ofBeams returns the rows of the beams that an indirection [B/W, W, M] names for each row in front, and those of this call.
func (m manyHeads) ofBeams(e *expression, c cache, from, past, x value) value {
	if e.rank(m.beams, 3); e.err != nil {
		return value{}
	}
	groups, width, n, size := from.dim(0), from.dim(1), past.dim(1), past.dim(3)
	if groups.Mul(width).Differ(past.dim(0)) {
		e.failf("input %s: %v is not about %v beams", e.c.InputName(m.beams), from.typ, past.dim(0))
	}
	rows := e.reshape(e.part(past, 2, op.D(0), c.kept), groups, width, n, c.kept, size)
	rows = e.transpose(rows, 0, 3, 1, 2, 4) // [B/W, row, W, N, H]
	index := e.transpose(e.part(from, 2, op.D(0), c.kept), 0, 2, 1)
	index = e.reshape(e.cast(index, dtype.Int64), groups, c.kept, width, op.D(1))
	rows = e.do(std.GatherNDConfig{BatchDims: 2}, rows, index)
	rows = e.reshape(e.transpose(rows, 0, 2, 3, 1, 4), past.dim(0), n, c.kept, size)
	return e.do(std.ConcatConfig{Axis: 2}, rows, x)
}
