package contrib

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// GroupQueryAttentionConfig has the attributes of GroupQueryAttention.
type GroupQueryAttentionConfig struct {
	Causal            *bool    `onnx:"causal"`                       // nil: true
	DoRotary          bool     `onnx:"do_rotary"`                    // rotary embedding of queries and keys
	KQuantType        string   `onnx:"k_quant_type,default=NONE"`    // scales of a quantized cache of keys: PER_TENSOR, PER_CHANNEL; NONE: not quantized
	CacheBits         int      `onnx:"kv_cache_bit_width,default=0"` // bits per element of a quantized cache: 8 or 4
	KVHeads           int      `onnx:"kv_num_heads,required"`        // at least 1
	LocalWindow       *int     `onnx:"local_window_size"`            // number of keys that a query attends to, ending with its own position; nil or −1: all
	NumHeads          int      `onnx:"num_heads,required"`           // at least 1
	NormEpsilon       *float32 `onnx:"qk_norm_epsilon"`              // nil: 1e-6
	QKOutput          int      `onnx:"qk_output,default=0"`          // the last output: 1 the scores, 2 their softmax
	RotaryInterleaved bool     `onnx:"rotary_interleaved"`           // rotate adjacent pairs
	Scale             *float32 `onnx:"scale"`                        // nil or 0: 1/√head size
	SlidingCache      bool     `onnx:"sliding_window_cache"`         // the cache holds about one window; older keys are dropped
	SmoothSoftmax     bool     `onnx:"smooth_softmax"`               // add 1 to the denominator of the softmax
	Softcap           float32  `onnx:"softcap,default=0"`            // 0: none
	VQuantType        string   `onnx:"v_quant_type,default=NONE"`    // the same for values
}

// Operator names the operator.
func (GroupQueryAttentionConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "GroupQueryAttention"}
}

func (c GroupQueryAttentionConfig) causal() bool { return c.Causal == nil || *c.Causal }

// window returns the number of keys that a query attends to, −1: all before it.
func (c GroupQueryAttentionConfig) window() int {
	if c.LocalWindow == nil {
		return -1
	}
	return *c.LocalWindow
}

func groupQueryAttention() *op.Op {
	return composed(op.Op{Name: "GroupQueryAttention", Cost: counted, Doc: "Causal attention of grouped queries with a cache, rotary positions, a local window and a sink.",
		In: "query T, key? T, value? T, past_key? C, past_value? C, seqlens_k? M, total_sequence_length? M shape, cos_cache? T, sin_cache? T, " +
			"position_ids? int64, attention_bias? T, head_sink? T, k_scale? S, v_scale? S, q_norm_weight? T weight, k_norm_weight? T weight",
		Out:   "output T, present_key? C, present_value? C, output_qk? T",
		Where: op.Where{"T": op.Floats(), "C": append([]op.DType{dtype.Int8, dtype.Uint8}, op.Floats()...), "M": {dtype.Int32}, "S": op.Floats()},
		Attrs: GroupQueryAttentionConfig{}, Check: checkGroupQueryAttention, Pinned: headsPinned}, groupQuery)
}

func checkGroupQueryAttention(c *op.Call) error {
	cfg := c.Config.(GroupQueryAttentionConfig)
	switch {
	case cfg.NumHeads < 1 || cfg.KVHeads < 1 || cfg.NumHeads > most || cfg.NumHeads%cfg.KVHeads != 0:
		return c.Errorf("%d query heads are no multiple of %d key heads", cfg.NumHeads, cfg.KVHeads)
	case cfg.KQuantType != cfg.VQuantType && (cfg.KQuantType == "NONE" || cfg.VQuantType == "NONE"):
		return c.Errorf("k_quant_type is %s, v_quant_type %s: both are quantized or neither", cfg.KQuantType, cfg.VQuantType)
	case cfg.SlidingCache && (cfg.window() < 1 || !c.Has(3)):
		return c.Errorf("sliding_window_cache needs local_window_size and past_key")
	case cfg.SlidingCache && cfg.QKOutput != 0:
		return c.Errorf("qk_output is not supported with sliding_window_cache")
	case cfg.QKOutput < 0 || cfg.QKOutput > 2:
		return c.Errorf("qk_output %d is unknown", cfg.QKOutput)
	case cfg.window() < -1 || cfg.window() == 0:
		return c.Errorf("local_window_size is %d, want -1 or the number of keys that a query sees", cfg.window())
	case !cfg.causal() && cfg.window() >= 0:
		return c.Errorf("local_window_size needs causal attention")
	case cfg.Softcap < 0:
		return c.Errorf("softcap %v is negative", cfg.Softcap)
	case c.Has(3) != c.Has(4):
		return c.Errorf("past_key and past_value come together or not at all")
	case c.Has(7) != c.Has(8) || cfg.DoRotary && !c.Has(7):
		return c.Errorf("do_rotary needs cos_cache and sin_cache")
	case c.Has(14) != c.Has(15):
		return c.Errorf("q_norm_weight and k_norm_weight come together or not at all")
	case c.Has(1) != c.Has(2):
		return c.Errorf("key and value come together or not at all")
	}
	return checkCacheType(c, cfg)
}

// checkCacheType compares the element type of the cache with the attributes.
func checkCacheType(c *op.Call, cfg GroupQueryAttentionConfig) error {
	if !cfg.quantized() {
		if c.Has(3) && (c.In[3].DType != c.In[0].DType || c.In[4].DType != c.In[0].DType) {
			return c.Errorf("past_key %v and past_value %v are of other types than query %v", c.In[3], c.In[4], c.In[0])
		}
		return nil
	}
	for _, q := range []string{cfg.KQuantType, cfg.VQuantType} {
		if q != "PER_TENSOR" && q != "PER_CHANNEL" {
			return c.Errorf("the quantization %q is unknown", q)
		}
	}
	want, ok := map[int]op.DType{8: dtype.Int8, 4: dtype.Uint8}[cfg.CacheBits]
	switch {
	case !ok:
		return c.Errorf("a cache of %d bits is not supported", cfg.CacheBits)
	case !c.Has(3) || !c.Has(12) || !c.Has(13):
		return c.Errorf("a quantized cache needs past_key, past_value, k_scale and v_scale")
	case c.In[3].DType != want || c.In[4].DType != want:
		return c.Errorf("a cache of %d bits is of type %v, got %v and %v", cfg.CacheBits, want, c.In[3], c.In[4])
	}
	return nil
}

func (c GroupQueryAttentionConfig) quantized() bool { return c.KQuantType != "NONE" }

// most is more heads or elements of a block than any model has; computations with such numbers do not overflow.
const most = 1 << 24

// grouped is the geometry of a call.
type grouped struct {
	GroupQueryAttentionConfig
	batch, rows, total op.Dim // queries of this call; keys of the longest sequence, those of earlier calls included
	prompt             bool   // the first call for a sequence
	before             value  // int64[B]: keys of earlier calls, of each sequence
	last               value  // int64[B]: the position of the last key of each sequence
	slide              *slide // of a cache that forgets
}

// groupQuery is GroupQueryAttention.
func groupQuery(e *expression, in []value) []value {
	c := &grouped{GroupQueryAttentionConfig: e.c.Config.(GroupQueryAttentionConfig)}
	none := make([]value, 4)
	e.need(5, 6)
	q, k, v := c.operands(e, in)
	if e.err != nil {
		return none
	}
	if c.lengths(e, q, in); e.err != nil {
		return none
	}
	if in[14].there() {
		q, k = c.normed(e, 14, q, in[14]), c.normed(e, 15, k, in[15])
	}
	if c.DoRotary {
		q, k = c.turned(e, q, in), c.turned(e, k, in)
	}
	if c.SlidingCache {
		c.slide = c.slid(e, in[3].dim(2))
	}
	k, nextK := c.cached(e, 3, in[3], k, c.stores(e, 12, k, in[12], c.KQuantType))
	v, nextV := c.cached(e, 4, in[4], v, c.stores(e, 13, v, in[13], c.VQuantType))
	if e.err != nil {
		return none
	}
	bias := e.scoreBias(10, in[10], c.batch, op.D(c.NumHeads), c.rows, c.total)
	if c.slide != nil && bias.there() {
		bias = c.slide.columns(e, bias, c.batch)
	}
	seen := c.seen(e, k.dim(2))
	a := e.attend(heads{q: q, k: k, v: v, scale: or(c.Scale, 0), softcap: float64(c.Softcap), sink: c.sink(e, q, in[11]),
		bias: e.sum(e.where(q, seen, 0, hidden(q.typ.DType)), bias), scores: e.c.Wants(3)})
	return []value{a.y, nextK, nextV, c.shown(e, a, seen)}
}

// lengths are those of the call and of each sequence.
func (c *grouped) lengths(e *expression, q value, in []value) {
	c.batch, c.rows = q.dim(0), q.dim(2)
	if fits(e.c.In[5].Shape, []op.Dim{c.batch, op.D(1)}) {
		in[5] = e.reshape(in[5], c.batch)
	} else {
		e.shape(5, c.batch)
	}
	c.total = e.count(6)
	if e.err == nil && c.total.Known() && c.rows.Known() && c.total.Size < c.rows.Size {
		e.failf("input total_sequence_length is %v, for %v queries", c.total, c.rows)
	}
	if e.err != nil {
		return
	}
	c.prompt = c.total.Same(c.rows)
	c.last = e.cast(in[5], dtype.Int64)
	if c.before = e.add(c.last, e.sub(e.ints(1), e.counted(c.rows))); c.prompt {
		c.before = e.sub(c.last, c.last)
	}
}

// operands are queries [B, N, S, H], keys and values [B, G, S, H].
func (c *grouped) operands(e *expression, in []value) (q, k, v value) {
	for i := range 3 {
		e.rank(i, 3)
	}
	if e.err != nil {
		return
	}
	q, k, v = in[0], in[1], in[2]
	if !k.there() {
		size := q.dim(2).Div(op.D(c.NumHeads + 2*c.KVHeads))
		if size.Mul(op.D(c.NumHeads + 2*c.KVHeads)).Differ(q.dim(2)) {
			e.failf("cannot cut %v into %d query heads and %d key and value heads each", q.typ, c.NumHeads, c.KVHeads)
		}
		wide, narrow := size.Mul(op.D(c.NumHeads)), size.Mul(op.D(c.KVHeads))
		q, k, v = e.part(q, 2, op.D(0), wide), e.part(q, 2, wide, narrow), e.part(q, 2, wide.Add(narrow), narrow)
	}
	q, k, v = e.split(q, c.NumHeads), e.split(k, c.KVHeads), e.split(v, c.KVHeads)
	if e.err == nil && !(fits(k.typ.Shape, []op.Dim{q.dim(0), k.dim(1), q.dim(2), q.dim(3)}) && fits(v.typ.Shape, k.typ.Shape)) {
		e.failf("query %v, key %v and value %v do not fit", e.c.In[0], e.c.In[1], e.c.In[2])
	}
	return
}

// normed returns the RMS normalization of each head.
func (c *grouped) normed(e *expression, slot int, x, weight value) value {
	e.shape(slot, x.dim(3))
	last, eps := -1, float32(or(c.NormEpsilon, 1e-6))
	return e.do(std.RMSNormalizationConfig{Axis: &last, Epsilon: &eps}, x, weight)
}

// turned rotates each head by its positions: the given ones, of which a prompt only uses the first, or those that follow
// from the lengths.
func (c *grouped) turned(e *expression, x value, in []value) value {
	e.rank(7, 2)
	if e.shape(8, in[7].typ.Shape...); e.err != nil {
		return value{}
	}
	ids := in[9]
	if ids.there() {
		e.shape(9, c.batch, c.rows)
	}
	switch {
	case c.prompt && ids.there():
		ids = e.positions(e.part(e.part(ids, 0, op.D(0), op.D(1)), 1, op.D(0), op.D(1)), c.batch, c.rows)
	case c.prompt:
		ids = e.positions(e.ints(0), c.batch, c.rows)
	case !ids.there():
		ids = e.add(e.reshape(c.before, c.batch, op.D(1)), e.counting(c.rows))
	}
	turn := std.RotaryEmbeddingConfig{Interleaved: c.RotaryInterleaved}
	if width := in[7].dim(1).Mul(op.D(2)); width.Known() {
		turn.RotaryDim = width.Size
	}
	return e.do(turn, x, in[7], in[8], ids)
}

// seen returns which keys each query attends to, bool[B, 1, S, T]: those up to its own position and to
// the last of its sequence, of which a local window only has the last ones.
func (c *grouped) seen(e *expression, keys op.Dim) value {
	one := op.D(1)
	of := func(v value) value { return e.reshape(v, c.batch, one, one, one) }
	column, end, before := e.reshape(e.counting(keys), one, one, one, keys), of(c.last), of(c.before)
	if c.slide != nil { // columns count from the first row of the cache
		end, before = e.sub(end, of(c.slide.gone)), of(c.slide.kept)
	}
	if c.causal() {
		end = e.do(op.Plain("Min"), e.add(before, e.reshape(e.counting(c.rows), one, one, c.rows, one)), end)
	}
	seen := e.do(op.Plain("LessOrEqual"), column, end)
	if w := c.window(); w >= 0 {
		seen = e.do(op.Plain("And"), seen, e.do(op.Plain("Greater"), column, e.sub(end, e.ints(w))))
	}
	return seen
}

// sink returns the score that counts in every sum; absent where none does.
func (c *grouped) sink(e *expression, like, given value) value {
	n := op.D(c.NumHeads)
	switch {
	case given.there():
		e.shape(11, n)
		return e.reshape(given, op.D(1), n, op.D(1), op.D(1))
	case c.SmoothSoftmax:
		return e.reshape(e.number(like, 0), op.D(1), op.D(1), op.D(1), op.D(1))
	}
	return value{}
}

// shown returns the values that qk_output selects, 0 for keys that a query does not attend to.
func (c *grouped) shown(e *expression, a attended, seen value) value {
	switch {
	case !e.c.Wants(3):
		return value{}
	case c.QKOutput == 1:
		return e.do(op.Plain("Where"), seen, a.scores, e.number(a.scores, 0))
	case c.QKOutput == 2:
		return a.prob
	}
	e.failf("the output output_qk needs qk_output")
	return value{}
}

// counted returns a dimension as int64[1]; while types are inferred, of no known value.
func (e *expression) counted(d op.Dim) value {
	if e.g == nil || e.err != nil {
		return value{typ: op.T(dtype.Int64, op.D(1))}
	}
	return e.ints(d.Size)
}

func (e *expression) sub(a, b value) value { return e.do(op.Plain("Sub"), a, b) }
