package contrib

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/std"
)

// AttentionConfig has the attributes of Attention in this domain.
type AttentionConfig struct {
	DoRotary       bool     `onnx:"do_rotary"`                      // rotary embedding of queries and keys, as in GPT-NeoX
	MaskFilter     *float32 `onnx:"mask_filter_value"`              // nil: −10000
	NumHeads       int      `onnx:"num_heads,required"`             // at least 1
	ShareBuffer    bool     `onnx:"past_present_share_buffer"`      // past and present share a buffer
	HiddenSizes    []int    `onnx:"qkv_hidden_sizes"`               // of queries, keys and values; nil: all the same
	RotaryDim      int      `onnx:"rotary_embedding_dim,default=0"` // 0: all of a head
	Scale          *float32 `onnx:"scale"`                          // nil or 0: 1/√head size
	Unidirectional bool     `onnx:"unidirectional"`                 // a query only attends to keys up to its own position
}

// Operator names the operator.
func (AttentionConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "Attention"} }

// transformers returns the operators that ONNX Runtime's optimizer and exporters make of transformer models.
func transformers() []*op.Op {
	attention := op.Op{Name: "Attention", Cost: counted, Doc: "Projects rows to queries, keys and values and attends, with masks of all forms and a cache.",
		In:  "input T, weights T weight, bias? T weight, mask_index? M, past? T, attention_bias? T, past_sequence_length? M shape",
		Out: "output T, present? T", Where: op.Where{"T": op.Floats(), "M": {dtype.Int32}}, Attrs: AttentionConfig{}, Check: checkAttention,
		// Heads and their sizes are attributes, or a third of a sum: the rows' features alone are free.
		Couple: func(c *op.Call) []coupling.Coupling {
			return []coupling.Coupling{op.Couple(coupling.In(0, 2), coupling.In(1, 0))}
		}}
	return []*op.Op{embedLayerNormalization(), rotaryEmbedding(), composed(attention, projected), multiHeadAttention(),
		decoderMaskedMultiHeadAttention(), groupQueryAttention()}
}

func checkAttention(c *op.Call) error {
	cfg := c.Config.(AttentionConfig)
	switch {
	case cfg.NumHeads < 1:
		return c.Errorf("num_heads is %d, want 1 or more", cfg.NumHeads)
	case cfg.HiddenSizes != nil && len(cfg.HiddenSizes) != 3:
		return c.Errorf("qkv_hidden_sizes has %d elements, want 3", len(cfg.HiddenSizes))
	case cfg.HiddenSizes != nil && slices.Min(cfg.HiddenSizes) < 1:
		return c.Errorf("qkv_hidden_sizes are %v", cfg.HiddenSizes)
	case cfg.HiddenSizes != nil && cfg.HiddenSizes[0] != cfg.HiddenSizes[1]:
		return c.Errorf("queries have hidden size %d, keys %d", cfg.HiddenSizes[0], cfg.HiddenSizes[1])
	case cfg.ShareBuffer && c.Has(4) != c.Has(6):
		return c.Errorf("past_present_share_buffer needs past and past_sequence_length")
	}
	return nil
}

// projected is Attention.
func projected(e *expression, in []value) []value {
	cfg := e.c.Config.(AttentionConfig)
	e.rank(0, 3)
	e.rank(1, 2)
	if e.err != nil {
		return []value{{}, {}}
	}
	x, w := in[0], in[1]
	e.shape(1, x.dim(2), op.Unknown())
	e.shape(2, w.dim(1))
	sizes := make([]op.Dim, 3)
	for i := range sizes {
		if sizes[i] = w.dim(1).Div(op.D(3)); cfg.HiddenSizes != nil {
			sizes[i] = op.D(cfg.HiddenSizes[i])
		}
	}
	if sizes[0].Add(sizes[1]).Add(sizes[2]).Differ(w.dim(1)) {
		e.failf("input weights: %v is no sum of the hidden sizes %v, %v and %v", w.typ, sizes[0], sizes[1], sizes[2])
	}
	rows := e.do(op.Plain("MatMul"), x, w)
	if in[2].there() {
		rows = e.add(rows, in[2])
	}
	return e.selfAttention(cfg, rows, sizes, in, places{mask: 3, past: 4, bias: 5, length: 6})
}

// places are the positions of inputs that some operators of self-attention lack: 0, as the rows are never among them.
type places struct{ mask, past, bias, length int }

// selfAttention attends to projected rows [B, S, Q+K+V] of the given sizes: the output and the next cache.
func (e *expression) selfAttention(cfg AttentionConfig, rows value, sizes []op.Dim, in []value, at places) []value {
	input := func(i int) value {
		if i == 0 {
			return value{}
		}
		return in[i]
	}
	var h [3]value
	from := op.D(0)
	for i := range h {
		h[i] = e.split(e.part(rows, 2, from, sizes[i]), cfg.NumHeads)
		from = from.Add(sizes[i])
	}
	batch, n := rows.dim(0), op.D(cfg.NumHeads)
	c := cache{rows: rows.dim(1), kept: op.D(0)}
	if past := input(at.past); past.there() {
		e.rank(at.past, 5)
		e.shape(at.past, op.D(2), batch, n, op.Unknown(), h[1].dim(3))
		c.load(e, e.layer(past, 0), e.layer(past, 1), cfg.ShareBuffer, at.length)
	}
	if cfg.DoRotary {
		h[0], h[1] = e.rotated(cfg, h[0], c.kept), e.rotated(cfg, h[1], c.kept)
	}
	k, v, presentK, presentV := c.append(e, h[1], h[2])
	keys := c.kept.Add(c.rows)
	pad := padding{batch: batch, queries: c.rows, keys: keys, past: c.kept, filter: or(cfg.MaskFilter, -10000), like: rows}
	mask := input(at.mask)
	if dummy(mask, keys) {
		mask = value{}
	}
	bias := pad.of(e, at.mask, mask)
	if cfg.Unidirectional {
		bias = e.sum(bias, e.causal(rows, c.rows, keys, c.kept))
	}
	bias = e.sum(bias, e.scoreBias(at.bias, input(at.bias), batch, n, c.rows, keys))
	a := e.attend(heads{q: h[0], k: k, v: v, scale: or(cfg.Scale, 0), bias: bias})
	return []value{a.y, e.stacked(presentK, presentV)}
}

// dummy reports whether a mask has one column for several keys, which is the same for all of them.
func dummy(mask value, keys op.Dim) bool {
	s := mask.typ.Shape
	return len(s) == 2 && s[1] == op.D(1) && keys != op.D(1)
}

// rotated rotates queries or keys, of which the first row has position past.
func (e *expression) rotated(cfg AttentionConfig, x value, past op.Dim) value {
	width := cfg.RotaryDim
	if size := x.dim(3); width == 0 {
		width = size.Size
	} else if width < 0 || width%2 != 0 || size.Known() && width > size.Size {
		e.failf("cannot rotate %d of %v elements of a head", width, size)
	}
	if e.g == nil || e.err != nil {
		return x
	}
	return e.turnHeads(x, past, width)
}

// layer is element i of the first axis.
func (e *expression) layer(v value, i int) value {
	if e.err != nil {
		return value{}
	}
	return e.reshape(e.part(v, 0, op.D(i), op.D(1)), v.typ.Shape[1:]...)
}

// stacked puts keys and values after each other along a new first axis.
func (e *expression) stacked(k, v value) value {
	if !e.c.Wants(1) || e.err != nil {
		return value{}
	}
	if k.dim(3).Differ(v.dim(3)) {
		e.failf("present needs keys and values of one head size, got %v and %v", k.dim(3), v.dim(3))
		return value{}
	}
	front := func(x value) value { return e.reshape(x, append([]op.Dim{op.D(1)}, x.typ.Shape...)...) }
	return e.do(std.ConcatConfig{Axis: 0}, front(k), front(v))
}

// cache are the keys and values of earlier calls, [B, N, M, H] of which the first kept rows count.
type cache struct {
	rows, kept op.Dim // of this call, of those before
	k, v       value
	shared     bool // the buffer of length M has space for the rows of this call
}

// load takes over a cache. Where it is shared, input i has the number of rows that count.
func (c *cache) load(e *expression, k, v value, shared bool, i int) {
	if e.err != nil {
		return
	}
	c.k, c.v, c.shared, c.kept = k, v, shared, k.dim(2)
	if !shared {
		return
	}
	c.kept = e.count(i)
	if end := c.kept.Add(c.rows); e.err == nil && end.Known() && k.dim(2).Known() && end.Size > k.dim(2).Size {
		e.failf("the cache %v has no room for %v rows from %v on", k.typ, c.rows, c.kept)
	}
}

// count returns the number that input i has, which a shape depends on.
func (e *expression) count(i int) op.Dim {
	d, err := e.c.Dims(i)
	switch {
	case err != nil:
		e.fail(err)
	case len(d) != 1:
		e.failf("input %s: want one number, got %v", e.c.InputName(i), e.c.In[i])
	case e.g != nil && d[0].Size < 0:
		e.failf("input %s is %d", e.c.InputName(i), d[0].Size)
	default:
		return d[0]
	}
	return op.Unknown()
}

// append returns all keys and values, those of earlier calls first, and the next cache.
func (c *cache) append(e *expression, k, v value) (allK, allV, nextK, nextV value) {
	if !c.k.there() || e.err != nil {
		return k, v, k, v
	}
	one := func(past, x value) (all, next value) {
		all = e.do(std.ConcatConfig{Axis: 2}, e.part(past, 2, op.D(0), c.kept), x)
		if next = all; !c.shared {
			return all, next
		}
		end := c.kept.Add(c.rows)
		rest := past.dim(2).Sub(end)
		if rest == op.D(0) || e.g == nil {
			return all, value{typ: past.typ, node: all.node}
		}
		return all, e.do(std.ConcatConfig{Axis: 2}, all, e.part(past, 2, end, rest))
	}
	allK, nextK = one(c.k, k)
	allV, nextV = one(c.v, v)
	return allK, allV, nextK, nextV
}
