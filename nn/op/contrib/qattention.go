package contrib

import (
	"math"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// QAttentionConfig has the attributes of QAttention.
type QAttentionConfig struct {
	Heads       int      `onnx:"num_heads,required"`
	Causal      bool     `onnx:"unidirectional"`            // a position sees those up to itself
	Scale       *float32 `onnx:"scale"`                     // nil or 0: 1/√size of a head
	MaskValue   *float32 `onnx:"mask_filter_value"`         // added to the score of what is masked; nil: -10000
	Rotary      bool     `onnx:"do_rotary"`                 // positions turn queries and keys: refused
	ShareBuffer bool     `onnx:"past_present_share_buffer"` // past and present are one tensor: refused
}

// Operator names the operator.
func (QAttentionConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "QAttention"} }

func qAttention() *op.Op {
	return composed(op.Op{Name: "QAttention", Doc: "Attention of a sequence to itself and to what precedes it, queries, keys and values being the product of quantized matrices.",
		In:  "input T1, weight T2, bias T3 weight, input_scale T3, weight_scale T3, mask_index? int32, input_zero_point? T1, weight_zero_point? T2, past? T3",
		Out: "output T3, present? T3", Where: op.Where{"T1": bytes(), "T2": bytes(), "T3": op.Floats},
		Attrs: QAttentionConfig{}, Pinned: "weights are integers with scales"}, attendQuantized)
}

func attendQuantized(e *expression, in []value) []value {
	c := e.c.Config.(QAttentionConfig)
	e.checkQAttention(c, in)
	if e.err != nil {
		return make([]value, 2)
	}
	batch, steps, hidden := in[0].dim(0), in[0].dim(1), in[1].dim(1).Div(op.D(3))
	heads, size := op.D(c.Heads), hidden.Div(op.D(c.Heads))
	t := in[2].typ.DType
	x := e.do(op.Plain("MatMulInteger"), in[0], in[1], e.scalar(in[6]), in[7])
	x = e.add(e.scaled(x, e.scalar(in[3]), in[4]), in[2])
	x = e.transpose(e.reshape(x, batch, steps, op.D(3), heads, size), 2, 0, 3, 1, 4) // [3, batch, heads, steps, size]
	q, kv := e.reshape(e.slice(x, 0, 0, 1), batch, heads, steps, size), e.slice(x, 0, 1, 3)
	before := op.D(0)
	if in[8].there() {
		before = in[8].dim(3)
		kv = e.do(std.ConcatConfig{Axis: 3}, in[8], kv)
	}
	total := before.Add(steps)
	k := e.reshape(e.slice(kv, 0, 0, 1), batch, heads, total, size)
	v := e.reshape(e.slice(kv, 0, 1, 2), batch, heads, total, size)
	scale := or(c.Scale, 0)
	if scale == 0 && size.Known() {
		scale = 1 / math.Sqrt(float64(size.Size))
	}
	scores := e.scale(e.do(op.Plain("MatMul"), q, e.transpose(k, 0, 1, 3, 2)), scale)
	if mask := e.masked(in[5], batch, steps, total, or(c.MaskValue, -10000), t); mask.there() {
		scores = e.add(scores, mask)
	}
	if c.Causal {
		later := e.do(op.Plain("Greater"), e.countingFrom(0, total), e.reshape(e.countingFrom(before.Size, steps), steps, op.D(1)))
		scores = e.do(op.Plain("Where"), later, e.number(scores, lowest(t)), scores)
	}
	last := -1
	y := e.do(op.Plain("MatMul"), e.do(std.SoftmaxConfig{Axis: &last}, scores), v)
	return []value{e.reshape(e.transpose(y, 0, 2, 1, 3), batch, steps, hidden), kv}
}

// lowest is the least number of a type of floats.
func lowest(t op.DType) float64 {
	switch t {
	case dtype.Float16:
		return -65504
	case dtype.BFloat16:
		return -0x1.FEp127
	}
	return -math.MaxFloat32
}

// checkQAttention checks shapes and refuses what has no meaning here.
func (e *expression) checkQAttention(c QAttentionConfig, in []value) {
	if c.Rotary {
		e.failf("do_rotary is 1: ONNX Runtime has that for other processors only; use RotaryEmbedding before an Attention of floats")
	}
	if c.ShareBuffer {
		e.failf("past_present_share_buffer is 1, which needs the length of the past, and there is no input for it; leave it out")
	}
	e.single(in[3], "input_scale")
	e.single(in[6], "input_zero_point")
	if len(in[0].typ.Shape) != 3 || len(in[1].typ.Shape) != 2 || in[0].dim(2).Differ(in[1].dim(0)) {
		e.failf("input is %v and weight %v, want [batch, steps, channels] and [channels, 3 times hidden size]", in[0].typ, in[1].typ)
		return
	}
	if n := in[1].dim(1); n.Known() && (c.Heads < 1 || n.Size%(3*c.Heads) != 0) {
		e.failf("cannot cut %v columns of weight into queries, keys and values of %d heads", n, c.Heads)
		return
	}
	past, size := in[8], in[1].dim(1).Div(op.D(3*max(c.Heads, 1)))
	if !past.there() {
		return
	}
	if len(past.typ.Shape) != 5 || past.dim(0).Differ(op.D(2)) || past.dim(1).Differ(in[0].dim(0)) || past.dim(2).Differ(op.D(c.Heads)) || past.dim(4).Differ(size) {
		e.failf("past is %v, want [2, %v, %d, steps, %v]", past.typ, in[0].dim(0), c.Heads, size)
	}
}

// countingFrom is the vector of count numbers from start on.
func (e *expression) countingFrom(start int, count op.Dim) value {
	if !count.Known() || e.g == nil {
		return value{typ: op.T(dtype.Int32, count)}
	}
	list := make([]int, count.Size)
	for i := range list {
		list[i] = start + i
	}
	return e.constant(dtype.FromInts(dtype.Int32, list, count.Size))
}

// masked is what is added to scores [batch, heads, steps, total]: by where mask_index masks. That is 0 at what is masked, as
// [batch, total] or [batch, steps, total]; or the number of positions that count, [batch]; or the end of these
// followed by their start, [2·batch]. One column, [batch, 1] or [1, 1], masks nothing.
func (e *expression) masked(mask value, batch, steps, total op.Dim, by float64, t op.DType) value {
	if !mask.there() || e.err != nil {
		return value{}
	}
	shape := mask.typ.Shape
	zero := e.constant(dtype.FromInts(dtype.Int32, []int{0}))
	var hidden value
	switch {
	case len(shape) == 1 && shape[0].Same(batch):
		hidden = e.do(op.Plain("GreaterOrEqual"), e.countingFrom(0, total), e.reshape(mask, batch, op.D(1), op.D(1), op.D(1)))
	case len(shape) == 1 && !shape[0].Differ(batch.Mul(op.D(2))):
		parts := e.doN(2, std.SplitConfig{NumOutputs: 2}, mask)
		at := e.countingFrom(0, total)
		end := e.reshape(parts[0], batch, op.D(1), op.D(1), op.D(1))
		start := e.reshape(parts[1], batch, op.D(1), op.D(1), op.D(1))
		hidden = e.do(op.Plain("Or"), e.do(op.Plain("GreaterOrEqual"), at, end), e.do(op.Plain("Less"), at, start))
	case len(shape) == 2 && shape[1] == op.D(1) && (shape[0].Same(batch) || shape[0] == op.D(1)) && total != op.D(1):
		return value{}
	case len(shape) == 2 && !shape[0].Differ(batch) && !shape[1].Differ(total):
		hidden = e.do(op.Plain("LessOrEqual"), e.reshape(mask, batch, op.D(1), op.D(1), total), zero)
	case len(shape) == 3 && !shape[0].Differ(batch) && !shape[1].Differ(steps) && !shape[2].Differ(total):
		hidden = e.do(op.Plain("LessOrEqual"), e.reshape(mask, batch, op.D(1), steps, total), zero)
	default:
		e.failf("mask_index is %v, want [%v], [2·%v], [%v, %v] or [%v, %v, %v]", mask.typ, batch, batch, batch, total, batch, steps, total)
		return value{}
	}
	like := value{typ: op.T(t)}
	return e.do(op.Plain("Where"), hidden, e.number(like, by), e.number(like, 0))
}
