package std

import (
	"math"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// LinearAttentionConfig has the attributes of LinearAttention.
type LinearAttentionConfig struct {
	ChunkSize int     `onnx:"chunk_size,default=64"`           // a hint without effect
	KVHeads   int     `onnx:"kv_num_heads,required"`           // heads of key and value, at least 1
	QHeads    int     `onnx:"q_num_heads,required"`            // heads of query, a multiple of KVHeads
	Scale     float32 `onnx:"scale,default=0"`                 // of the output; 0: 1/√key size
	Rule      string  `onnx:"update_rule,default=gated_delta"` // linear, gated, delta or gated_delta
}

// Operator makes LinearAttentionConfig a Config.
func (LinearAttentionConfig) Operator() op.Name { return op.Name{Name: "LinearAttention"} }

// maxSteps bounds the time steps that are unrolled into an expression.
const maxSteps = 1 << 14

func linearAttention() *op.Op {
	return &op.Op{
		Name: "LinearAttention", Since: []int{27}, Doc: "Attention through a state that keys and values write to and queries read, step by step.",
		In:  "query T, key T, value T, past_state? S, decay? T, beta? T",
		Out: "output T, present_state S", Where: op.Where{"T": op.Floats(), "S": op.Floats()}, Attrs: LinearAttentionConfig{},
		Infer: inferLinearAttention, Lower: lowerLinearAttention, Pinned: "heads follow one another in the last axis",
	}
}

func (cfg LinearAttentionConfig) gated() bool {
	return cfg.Rule == "gated" || cfg.Rule == "gated_delta"
}
func (cfg LinearAttentionConfig) delta() bool {
	return cfg.Rule == "delta" || cfg.Rule == "gated_delta"
}

func inferLinearAttention(c *op.Call) ([]op.Type, error) {
	cfg := c.Config.(LinearAttentionConfig)
	if cfg.Rule != "linear" && !cfg.gated() && !cfg.delta() {
		return nil, c.Errorf("update_rule %q is unknown", cfg.Rule)
	}
	if cfg.KVHeads < 1 || cfg.QHeads < 1 || cfg.QHeads%cfg.KVHeads != 0 {
		return nil, c.Errorf("%d query heads are no multiple of %d key heads", cfg.QHeads, cfg.KVHeads)
	}
	if cfg.gated() && !c.Has(4) || cfg.delta() && !c.Has(5) {
		return nil, c.Errorf("update_rule %s needs decay or beta, which is absent", cfg.Rule)
	}
	state := c.In[0].DType
	if c.Has(3) {
		state = c.In[3].DType
	}
	q, k, v := c.In[0], c.In[1], c.In[2]
	if q.Unranked || k.Unranked || v.Unranked {
		return []op.Type{{DType: q.DType, Unranked: true}, {DType: state, Unranked: true}}, nil
	}
	for i := range 3 {
		if len(c.In[i].Shape) != 3 || c.In[i].Shape[0].Differ(q.Shape[0]) || c.In[i].Shape[1].Differ(q.Shape[1]) {
			return nil, c.Mismatch(i, "batch, time and heads as in the query", c.In[i])
		}
	}
	hq, hk := op.D(cfg.QHeads), op.D(cfg.KVHeads)
	dk, dv := k.Shape[2].Div(hk), v.Shape[2].Div(hk)
	if dk.Mul(hq).Differ(q.Shape[2]) || dk.Mul(hk).Differ(k.Shape[2]) || dv.Mul(hk).Differ(v.Shape[2]) {
		return nil, c.Errorf("cannot cut %v, %v and %v into %d query heads and %d key heads", q, k, v, cfg.QHeads, cfg.KVHeads)
	}
	s := op.T(state, q.Shape[0], hk, dk, dv)
	if c.Has(3) && !c.In[3].Unranked {
		p := c.In[3].Shape
		if len(p) != 4 || p[0].Differ(s.Shape[0]) || p[1].Differ(hk) || p[2].Differ(dk) || p[3].Differ(dv) {
			return nil, c.Mismatch(3, s, c.In[3])
		}
	}
	return []op.Type{q.With(q.Shape[0], q.Shape[1], dv.Mul(hq)), s}, nil
}

func lowerLinearAttention(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	cfg, b := c.Config.(LinearAttentionConfig), composeOn(c, in)
	batch, steps := c.In[0].Shape[0], c.In[0].Shape[1].Size
	hq, hk := cfg.QHeads, cfg.KVHeads
	dk, dv := c.In[1].Shape[2].Size/hk, c.In[2].Shape[2].Size/hk
	if steps > maxSteps {
		return nil, c.Errorf("cannot run %d time steps, up to %d are possible", steps, maxSteps)
	}
	t := computed(c.In[0].DType)
	scale := float64(cfg.Scale)
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(dk))
	}
	// Every operand becomes a list of matrices [B, HK, …], one for each step.
	heads := func(i, heads, rows, cols int) gorgonia.Nodes {
		if steps == 0 {
			return nil
		}
		x := b.reshape(b.cast(in[i], t), batch, op.D(steps), op.D(heads), op.D(rows), op.D(cols))
		parts := b.split(x, 1, repeatInt(1, steps)...)
		for s := range parts {
			if b.err == nil {
				parts[s] = b.reshape(parts[s], batch, op.D(heads), op.D(rows), op.D(cols))
			}
		}
		return parts
	}
	each := func(i, rows, cols int) gorgonia.Nodes { return heads(i, hk, rows, cols) }
	q, k, v := each(0, hq/hk, dk), each(1, dk, 1), each(2, 1, dv)
	var decay, beta gorgonia.Nodes
	if cfg.gated() {
		rows, err := perHead(c, 4, hk, dk)
		if err != nil {
			return nil, err
		}
		decay = each(4, rows, 1)
	}
	if cfg.delta() {
		if c.In[5].Rank() == 3 && c.In[5].Shape[2].Size == 1 { // one rate for all heads
			beta = heads(5, 1, 1, 1)
		} else if _, err := perHead(c, 5, hk, 1); err != nil {
			return nil, err
		} else {
			beta = each(5, 1, 1)
		}
	}
	var state *gorgonia.Node
	if c.Has(3) {
		state = b.cast(in[3], t)
	} else {
		state = b.expand(b.fill(t, 0, 1, 1, 1, 1), batch, op.D(hk), op.D(dk), op.D(dv))
	}
	out := make(gorgonia.Nodes, steps)
	for s := range steps {
		if decay != nil {
			state = b.do(op.Plain("Mul"), state, b.do(op.Plain("Exp"), decay[s]))
		}
		write := v[s]
		if beta != nil {
			kt := b.reshape(k[s], batch, op.D(hk), op.D(1), op.D(dk))
			write = b.do(op.Plain("Mul"), b.do(op.Plain("Sub"), v[s], b.do(op.Plain("MatMul"), kt, state)), beta[s])
		}
		state = b.do(op.Plain("Add"), state, b.do(op.Plain("MatMul"), k[s], write))
		out[s] = b.reshape(b.scale(b.do(op.Plain("MatMul"), q[s], state), scale), batch, op.D(1), op.D(hq*dv))
		if b.err != nil {
			return nil, b.err
		}
	}
	var y *gorgonia.Node
	switch steps {
	case 0:
		y = b.expand(b.fill(t, 0, 1, 0, 1), batch, op.D(0), op.D(hq*dv))
	case 1:
		y = out[0]
	default:
		y = b.concat(1, out...)
	}
	results := []*gorgonia.Node{b.cast(b.reshape(y, c.Out[0].Shape...), c.In[0].DType), nil}
	if c.Wants(1) {
		results[1] = b.cast(state, c.Out[1].DType)
	}
	return b.results(in, results[:c.Outputs]...)
}

func repeatInt(v, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = v
	}
	return list
}

// perHead returns the number of elements per head of input i, [B, T, HK·n] or [B, T, HK].
func perHead(c *op.Call, i, heads, n int) (int, error) {
	if t := c.In[i]; len(t.Shape) == 3 && t.Shape[0].Size == c.In[0].Shape[0].Size && t.Shape[1].Size == c.In[0].Shape[1].Size {
		switch t.Shape[2].Size {
		case heads * n:
			return n, nil
		case heads:
			return 1, nil
		}
	}
	return 0, c.Mismatch(i, op.T(dtype.Float32, c.In[0].Shape[0], c.In[0].Shape[1], op.D(heads*n)), c.In[i])
}
