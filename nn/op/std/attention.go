package std

import (
	"errors"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
)

// AttentionConfig has the attributes of Attention.
type AttentionConfig struct {
	Causal       bool     `onnx:"is_causal"`                       // a query attends only to keys up to its own position
	QHeads       int      `onnx:"q_num_heads"`                     // heads of Q, if inputs have rank 3
	KVHeads      int      `onnx:"kv_num_heads"`                    // heads of K and V, if inputs have rank 3
	QKOutputMode int      `onnx:"qk_matmul_output_mode,default=0"` // contents of qk_matmul_output: 0 Q·Kᵀ, 1 after the soft cap, 2 after the mask, 3 after the softmax
	Scale        *float32 `onnx:"scale"`                           // of Q·Kᵀ; nil: 1/√head size
	Softcap      float32  `onnx:"softcap,default=0"`               // c in c·tanh(score/c); 0: none
	Precision    op.DType `onnx:"softmax_precision"`               // type in which the softmax is computed; undefined: that of the inputs
}

// Operator makes AttentionConfig a Config.
func (AttentionConfig) Operator() op.Name { return op.Name{Name: "Attention"} }

func attention() *op.Op {
	return &op.Op{
		Name: "Attention", Since: []int{23, 24}, Versions: attentionVersions(), Doc: "Scaled dot product attention, grouped queries, masks and a cache of keys and values included.",
		In:    "Q T1, K T1, V T2, attn_mask? U, past_key? T1, past_value? T2, nonpad_kv_seqlen? int64",
		Out:   "Y T1, present_key? T1, present_value? T2, qk_matmul_output? T1",
		Where: op.Where{"T1": op.Floats(), "T2": op.Floats(), "U": append([]op.DType{dtype.Bool}, op.Numeric()...)}, Attrs: AttentionConfig{},
		Check: checkAttention, Infer: inferAttention, Lower: lowerAttention, Couple: coupleAttention,
		Cost: func(c *op.Call) (int64, int64) {
			h, err := headsOf(c)
			if err != nil {
				return 0, bytesMoved(c)
			}
			return int64(op.Product([]op.Dim{h.B, h.HQ, h.SQ, h.Total, h.D.Add(h.DV)}).Size), bytesMoved(c)
		},
	}
}

func checkAttention(c *op.Call) error {
	cfg := c.Config.(AttentionConfig)
	switch {
	case cfg.QKOutputMode < 0 || cfg.QKOutputMode > 3:
		return c.Errorf("qk_matmul_output_mode %d is unknown", cfg.QKOutputMode)
	case cfg.Softcap < 0:
		return c.Errorf("softcap %v is negative", cfg.Softcap)
	case cfg.Precision != dtype.Undefined && !cfg.Precision.IsFloat():
		return c.Errorf("softmax_precision %v is not a floating-point type", cfg.Precision)
	case c.Has(4) != c.Has(5):
		return c.Errorf("past_key and past_value come together or not at all")
	case c.Has(6) && c.Version < 24:
		return c.Errorf("nonpad_kv_seqlen needs version 24")
	case c.Has(6) && c.Has(4):
		return c.Errorf("nonpad_kv_seqlen and past_key exclude each other")
	}
	return nil
}

// heads are the dimensions of an attention: queries [B, HQ, SQ, D], keys [B, HK, SK, D], values
// [B, HK, SK, DV], the cache included in Total.
type heads struct {
	B, HQ, SQ, D, HK, SK, DV, Past, Total op.Dim
	packed                                bool // rank 3: heads are concatenated in the last axis
}

func headsOf(c *op.Call) (h heads, err error) {
	cfg := c.Config.(AttentionConfig)
	rank, err := c.Rank(0)
	if err != nil {
		return h, err
	}
	for i := 1; i < 3; i++ {
		if r, err := c.Rank(i); err != nil || r != rank {
			return h, c.Mismatch(i, c.In[0], c.In[i])
		}
	}
	q, k, v := c.In[0].Shape, c.In[1].Shape, c.In[2].Shape
	h.packed = rank == 3
	switch rank {
	case 3:
		if cfg.QHeads < 1 || cfg.KVHeads < 1 {
			return h, c.Errorf("q_num_heads and kv_num_heads are needed for inputs of rank 3")
		}
		h.B, h.SQ, h.SK, h.HQ, h.HK = q[0], q[1], k[1], op.D(cfg.QHeads), op.D(cfg.KVHeads)
		h.D, h.DV = q[2].Div(h.HQ), v[2].Div(h.HK)
		if h.D.Mul(h.HQ).Differ(q[2]) || h.D.Mul(h.HK).Differ(k[2]) || h.DV.Mul(h.HK).Differ(v[2]) {
			return h, c.Errorf("cannot cut %v, %v and %v into %d query heads and %d key heads", c.In[0], c.In[1], c.In[2], cfg.QHeads, cfg.KVHeads)
		}
	case 4:
		h.B, h.HQ, h.SQ, h.D, h.HK, h.SK, h.DV = q[0], q[1], q[2], q[3], k[1], k[2], v[3]
		if h.D.Differ(k[3]) || h.HK.Differ(v[1]) {
			return h, c.Errorf("Q %v, K %v and V %v do not fit", c.In[0], c.In[1], c.In[2])
		}
	default:
		return h, c.Mismatch(0, "rank 3 or 4", c.In[0])
	}
	if h.SK.Differ(v[rank-2]) || h.B.Differ(k[0]) || h.B.Differ(v[0]) {
		return h, c.Errorf("Q %v, K %v and V %v do not fit", c.In[0], c.In[1], c.In[2])
	}
	if h.HQ.Known() && h.HK.Known() && (h.HK.Size == 0 || h.HQ.Size%h.HK.Size != 0) {
		return h, c.Errorf("%v query heads are no multiple of %v key heads", h.HQ, h.HK)
	}
	h.Past, h.Total = op.D(0), h.SK
	if c.Has(4) {
		pk, pv := c.In[4].Shape, c.In[5].Shape
		if len(pk) != 4 || len(pv) != 4 || pk[2].Differ(pv[2]) || pk[1].Differ(h.HK) || pv[1].Differ(h.HK) || pk[3].Differ(h.D) || pv[3].Differ(h.DV) {
			return h, c.Errorf("past_key %v and past_value %v do not fit K %v and V %v", c.In[4], c.In[5], c.In[1], c.In[2])
		}
		h.Past = pk[2]
		h.Total = h.Past.Add(h.SK)
	}
	return h, nil
}

func inferAttention(c *op.Call) ([]op.Type, error) {
	if c.In[0].Unranked || c.In[1].Unranked || c.In[2].Unranked {
		y := op.Type{DType: c.In[0].DType, Unranked: true}
		return []op.Type{y, y, y.Of(c.In[2].DType), y}, nil
	}
	h, err := headsOf(c)
	if err != nil {
		return nil, err
	}
	y := c.In[0].With(h.B, h.HQ, h.SQ, h.DV)
	if h.packed {
		y = c.In[0].With(h.B, h.SQ, h.HQ.Mul(h.DV))
	}
	return []op.Type{y, c.In[0].With(h.B, h.HK, h.Total, h.D), c.In[2].With(h.B, h.HK, h.Total, h.DV), c.In[0].With(h.B, h.HQ, h.SQ, h.Total)}, nil
}

func lowerAttention(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	h, err := headsOf(c)
	if err != nil {
		return nil, err
	}
	cfg, b, t := c.Config.(AttentionConfig), composeOn(c, in), c.In[0].DType
	q, k, v := in[0], in[1], in[2]
	if h.packed {
		q = b.transpose(b.reshape(q, h.B, h.SQ, h.HQ, h.D), 0, 2, 1, 3)
		k = b.transpose(b.reshape(k, h.B, h.SK, h.HK, h.D), 0, 2, 1, 3)
		v = b.transpose(b.reshape(v, h.B, h.SK, h.HK, h.DV), 0, 2, 1, 3)
	}
	if c.Has(4) {
		k, v = b.concat(2, in[4], k), b.concat(2, in[5], v)
	}
	presentK, presentV := k, v
	scale := 1 / math.Sqrt(float64(h.D.Size))
	if cfg.Scale != nil {
		scale = float64(*cfg.Scale)
	}
	// Query heads that share a key head are computed as rows of one product.
	rows, grouped := h.SQ, h.HQ.Size != h.HK.Size
	if grouped {
		rows = h.HQ.Div(h.HK).Mul(h.SQ)
		q = b.reshape(q, h.B, h.HK, rows, h.D)
	}
	qk := b.do(op.Plain("MatMul"), b.scale(q, scale), b.transpose(k, 0, 1, 3, 2))
	if grouped {
		qk = b.reshape(qk, h.B, h.HQ, h.SQ, h.Total)
	}
	var seen [4]*gorgonia.Node
	seen[0] = qk
	if cfg.Softcap != 0 {
		qk = b.scale(b.do(op.Plain("Tanh"), b.scale(qk, 1/float64(cfg.Softcap))), float64(cfg.Softcap))
	}
	seen[1] = qk
	prob := attentionSoftmax(c, b, h, in, qk, &seen)
	if grouped {
		prob = b.reshape(prob, h.B, h.HK, rows, h.Total)
	}
	y := b.do(op.Plain("MatMul"), b.cast(prob, c.In[2].DType), v)
	if grouped {
		y = b.reshape(y, h.B, h.HQ, h.SQ, h.DV)
	}
	if h.packed {
		y = b.reshape(b.transpose(y, 0, 2, 1, 3), h.B, h.SQ, h.HQ.Mul(h.DV))
	}
	out := []*gorgonia.Node{b.cast(y, t), presentK, presentV, seen[cfg.QKOutputMode]}
	for i := range out {
		if !c.Wants(i) {
			out[i] = nil
		}
	}
	return b.results(in, out[:min(len(out), c.Outputs)]...)
}

// attentionSoftmax adds the masks and computes the softmax. A query that attends to no key gets zeros.
func attentionSoftmax(c *op.Call, b *compose, h heads, in gorgonia.Nodes, qk *gorgonia.Node, seen *[4]*gorgonia.Node) *gorgonia.Node {
	cfg, t := c.Config.(AttentionConfig), c.In[0].DType
	bias, blind := attentionBias(c, b, h, in)
	if bias == nil {
		seen[2] = qk
		seen[3] = attentionProbabilities(b, cfg, t, qk)
		return seen[3]
	}
	if !blind {
		seen[2] = b.do(op.Plain("Add"), qk, bias)
		seen[3] = attentionProbabilities(b, cfg, t, seen[2])
		return seen[3]
	}
	if c.Wants(3) && cfg.QKOutputMode == 2 {
		seen[2] = b.do(op.Plain("Add"), qk, bias)
	}
	axes := b.constant(dtype.FromSlice([]int64{-1}, 1))
	top := b.do(ReduceMaxConfig{}, bias, axes)
	none := b.do(op.Plain("Equal"), top, b.number(t, math.Inf(-1)))
	zero := b.number(t, 0)
	// A softmax of −∞ only is NaN, and so is its gradient.
	safe := b.do(op.Plain("Where"), none, zero, bias)
	prob := attentionProbabilities(b, cfg, t, b.do(op.Plain("Add"), qk, safe))
	seen[3] = b.do(op.Plain("Where"), none, zero, prob)
	return seen[3]
}

func attentionProbabilities(b *compose, cfg AttentionConfig, t op.DType, x *gorgonia.Node) *gorgonia.Node {
	if cfg.Precision != dtype.Undefined {
		x = b.cast(x, cfg.Precision)
	}
	return b.cast(b.do(SoftmaxConfig{}, x), t)
}

// attentionBias returns the bias of the scores, nil for none. blind reports whether some query may have no key
// to attend to.
func attentionBias(c *op.Call, b *compose, h heads, in gorgonia.Nodes) (bias *gorgonia.Node, blind bool) {
	cfg, t := c.Config.(AttentionConfig), c.In[0].DType
	add := func(n *gorgonia.Node) {
		if bias != nil {
			n = b.do(op.Plain("Add"), bias, n)
		}
		bias = n
	}
	allow := func(n *gorgonia.Node) *gorgonia.Node {
		return b.do(op.Plain("Where"), n, b.number(t, 0), b.number(t, math.Inf(-1)))
	}
	if c.Has(3) {
		m := in[3]
		if c.In[3].DType == dtype.Bool {
			m = allow(m)
		}
		add(padMask(c, b, b.cast(m, t), h.Total.Size))
		blind = true
	}
	if !c.Has(6) {
		if cfg.Causal {
			add(causalMask(poolOf(c), b, t, h.SQ.Size, h.Total.Size, h.Past.Size))
		}
		return bias, blind
	}
	column := b.counting(1, 1, 1, h.Total.Size)
	length := b.reshape(in[6], h.B, op.D(1), op.D(1), op.D(1))
	if cfg.Causal {
		row := b.reshape(b.counting(h.SQ.Size), op.D(1), op.D(1), h.SQ, op.D(1))
		first := b.do(op.Plain("Sub"), length, b.constant(dtype.FromSlice([]int64{int64(h.SQ.Size)}, 1)))
		add(allow(b.do(op.Plain("LessOrEqual"), column, b.do(op.Plain("Add"), row, first))))
	}
	add(allow(b.do(op.Plain("Less"), column, length)))
	return bias, true
}

// causalMask returns a mask that is −∞ where the key is after the query.
func causalMask(p *kernel.Pool, b *compose, t op.DType, queries, keys, past int) *gorgonia.Node {
	hidden, err := dtype.FromFloats(t, slices.Repeat([]float64{math.Inf(-1)}, keys), keys) // all that a row may have
	if err != nil {
		return b.constant(nil, err)
	}
	mask, row, pace := dtype.New(t, queries, keys), len(hidden.Raw), p.Pace()
	for i := range queries {
		pace.Did(keys)
		if seen := min(i+past+1, keys) * t.Size(); seen < row {
			copy(mask.Raw[i*row+seen:][:row-seen], hidden.Raw)
		}
	}
	return b.constant(mask, nil)
}

// padMask pads a mask for the first keys only with −∞.
func padMask(c *op.Call, b *compose, m *gorgonia.Node, total int) *gorgonia.Node {
	shape := c.In[3].Sizes()
	if len(shape) == 0 || shape[len(shape)-1] >= total || c.Version < 24 && shape[len(shape)-1] == 1 {
		return m
	}
	last := len(shape) - 1
	shape[last] = total - shape[last]
	return b.concat(last, m, b.fill(c.In[0].DType, math.Inf(-1), shape...))
}

// coupleAttention ties the values' head size to the output's. Heads and the size of queries and
// keys appear in attributes and in the scale: they are pinned.
func coupleAttention(c *op.Call) []coupling.Coupling {
	if len(c.In[2].Shape) != 4 {
		return nil
	}
	list := []coupling.Coupling{op.Couple(coupling.In(2, 3), coupling.Out(0, 3))}
	if c.Has(5) {
		list = append(list, op.Couple(coupling.In(5, 3), coupling.Out(0, 3)))
	}
	if c.Wants(2) {
		list = append(list, op.Couple(coupling.In(2, 3), coupling.Out(2, 3)))
	}
	return list
}

// attentionVersions: before version 24 all keys of the cache are used.
func attentionVersions() []op.Version {
	return []op.Version{{At: 24, Down: func(n *op.Spelling) error {
		if n.Has(6) {
			return errors.New("that version has no nonpad_kv_seqlen")
		}
		return nil
	}}}
}
