package contrib

import (
	"github.com/graft-ml/graft/nn/op"
)

// QAttentionConfig has the attributes of QAttention.
type QAttentionConfig struct {
	Heads       int      `onnx:"num_heads,required"`        // at least 1
	Causal      bool     `onnx:"unidirectional"`            // a query attends only to keys up to its own position
	Scale       *float32 `onnx:"scale"`                     // nil or 0: 1/√size of a head
	MaskValue   *float32 `onnx:"mask_filter_value"`         // added to masked scores; nil: -10000
	Rotary      bool     `onnx:"do_rotary"`                 // rotary embedding of queries and keys, as in GPT-NeoX
	ShareBuffer bool     `onnx:"past_present_share_buffer"` // past and present share a buffer: refused with a past, since no input gives its length
}

// Operator names the operator.
func (QAttentionConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "QAttention"} }

func qAttention() *op.Op {
	return composed(op.Op{Name: "QAttention", Cost: counted, Doc: "Attention of a sequence to itself and to what precedes it, queries, keys and values being the product of quantized matrices.",
		In:  "input T1, weight T2, bias T3 weight, input_scale T3, weight_scale T3, mask_index? int32, input_zero_point? T1, weight_zero_point? T2, past? T3",
		Out: "output T3, present? T3", Where: op.Where{"T1": bytes(), "T2": bytes(), "T3": op.Floats()},
		Attrs: QAttentionConfig{}, Pinned: "weights are integers with scales"}, attendQuantized)
}

func attendQuantized(e *expression, in []value) []value {
	c := e.c.Config.(QAttentionConfig)
	if e.checkQAttention(c, in); e.err != nil {
		return make([]value, 2)
	}
	rows := e.do(op.Plain("MatMulInteger"), in[0], in[1], e.scalar(in[6]), in[7])
	rows = e.add(e.scaled(rows, e.scalar(in[3]), in[4]), in[2])
	hidden := in[1].dim(1).Div(op.D(3))
	return e.selfAttention(AttentionConfig{NumHeads: c.Heads, Unidirectional: c.Causal, Scale: c.Scale, MaskFilter: c.MaskValue, DoRotary: c.Rotary},
		rows, []op.Dim{hidden, hidden, hidden}, in, places{mask: 5, past: 8})
}

// checkQAttention checks conditions that Attention does not have.
func (e *expression) checkQAttention(c QAttentionConfig, in []value) {
	if c.ShareBuffer && in[8].there() {
		e.failf("past_present_share_buffer is 1, which needs the length of the past, and there is no input for it; leave it out")
	}
	e.single(in[3], "input_scale")
	e.single(in[6], "input_zero_point")
	if len(in[0].typ.Shape) != 3 || len(in[1].typ.Shape) != 2 || in[0].dim(2).Differ(in[1].dim(0)) {
		e.failf("input is %v and weight %v, want [batch, steps, channels] and [channels, 3 times hidden size]", in[0].typ, in[1].typ)
		return
	}
	if n := in[1].dim(1); c.Heads < 1 || n.Known() && n.Size%(3*c.Heads) != 0 {
		e.failf("cannot cut %v columns of weight into queries, keys and values of %d heads", n, c.Heads)
	}
}
