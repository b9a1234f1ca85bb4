package std

import (
	"math"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// previewDomain is the domain of operators that the standard may still change.
const previewDomain = "ai.onnx.preview"

// FlexAttentionConfig has the attributes of FlexAttention. The inputs after V are the values
// that the subgraphs capture, those of ScoreMod first.
type FlexAttentionConfig struct {
	ScoreMod  op.Subgraph `onnx:"score_mod"`         // changes the scores before the softmax
	ProbMod   op.Subgraph `onnx:"prob_mod"`          // changes the probabilities after it
	Scale     *float32    `onnx:"scale"`             // nil: 1/√head size
	Precision op.DType    `onnx:"softmax_precision"` // undefined: at least float32
}

// Operator makes FlexAttentionConfig a Config.
func (FlexAttentionConfig) Operator() op.Name {
	return op.Name{Domain: previewDomain, Name: "FlexAttention"}
}

func flexAttention() *op.Op {
	return &op.Op{
		Domain: previewDomain, Name: "FlexAttention", Since: []int{1}, Doc: "Attention with subgraphs that change scores and probabilities.",
		In: "Q T, K T, V T, captured* any", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: FlexAttentionConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			if c.In[0].Unranked || c.In[1].Unranked || c.In[2].Unranked {
				return []op.Type{{DType: c.In[0].DType, Unranked: true}}, nil
			}
			h, err := flexHeads(c)
			if err != nil {
				return nil, err
			}
			return []op.Type{c.In[0].With(h.B, h.HQ, h.SQ, h.DV)}, nil
		},
		Lower: lowerFlexAttention, Pinned: "subgraphs read their inputs as they are",
	}
}

func flexHeads(c *op.Call) (heads, error) {
	if len(c.In[0].Shape) != 4 {
		return heads{}, c.Mismatch(0, "rank 4", c.In[0])
	}
	plain := *c
	plain.Config, plain.In = AttentionConfig{}, c.In[:3]
	return headsOf(&plain)
}

func lowerFlexAttention(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	h, err := flexHeads(c)
	if err != nil {
		return nil, err
	}
	cfg, b, t := c.Config.(FlexAttentionConfig), composeOn(c, in), c.In[0].DType
	scale := 1 / math.Sqrt(float64(h.D.Size))
	if cfg.Scale != nil {
		scale = float64(*cfg.Scale)
	}
	precision := cfg.Precision
	if precision == dtype.Undefined {
		precision = computed(t)
	}
	q, rows := in[0], h.HQ.Div(h.HK).Mul(h.SQ)
	q = b.reshape(q, h.B, h.HK, rows, h.D)
	scores := b.do(op.Plain("MatMul"), b.scale(q, scale), b.transpose(in[1], 0, 1, 3, 2))
	scores = b.cast(b.reshape(scores, h.B, h.HQ, h.SQ, h.Total), precision)
	at := 3
	modify := func(body op.Subgraph, x *gorgonia.Node) *gorgonia.Node {
		if body == nil || b.err != nil {
			return x
		}
		n := len(body.Captured())
		if body.Inputs() != 1 || at+n > len(in) {
			b.err = c.Errorf("a subgraph takes %d inputs and captures %d values, want one input and %d values", body.Inputs(), n, len(in)-at)
			return nil
		}
		types := append([]op.Type{op.NodeType(x)}, c.In[at:at+n]...)
		known := append([]op.Known{{}}, c.Known[at:at+n]...)
		out, err := body.Lower(c.Scope(b.g), append(gorgonia.Nodes{x}, in[at:at+n]...), types, known)
		at += n
		if err != nil || len(out) != 1 || !slices.Equal(out[0].Shape(), x.Shape()) {
			if b.err = err; err == nil {
				b.err = c.Errorf("a subgraph does not keep the shape of the scores")
			}
			return nil
		}
		return out[0]
	}
	prob := b.do(SoftmaxConfig{}, modify(cfg.ScoreMod, scores))
	prob = b.reshape(b.cast(modify(cfg.ProbMod, prob), t), h.B, h.HK, rows, h.Total)
	y := b.reshape(b.do(op.Plain("MatMul"), prob, in[2]), h.B, h.HQ, h.SQ, h.DV)
	return b.results(in, y)
}
