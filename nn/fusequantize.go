package nn

import (
	"bytes"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// quantizeRule is a value that is quantized and dequantized at once. Where a gradient is asked for, it passes straight
// through the two, as it does when PyTorch trains such models; through integers there would be none. So it goes with each
// of several nodes that dequantize the same integers.
func quantizeRule() rule {
	integers := on("QuantizeLinear", anything("x")).as("integers").alsoRead()
	return rule{"fake quantization", on("DequantizeLinear", integers), func(m *matching) *fused {
		q := m.named["integers"].producer
		quantize, ok1 := q.config.(std.QuantizeLinearConfig)
		dequantize, ok2 := m.root.config.(std.DequantizeLinearConfig)
		if !ok1 || !ok2 || !m.w.influenced[m.named["x"]] || quantize.BlockSize != dequantize.BlockSize || !m.typ("integers").DType.IsInteger() {
			return nil
		}
		if a, b := quantize.Axis, dequantize.Axis; (a == nil) != (b == nil) || a != nil && *a != *b {
			return nil
		}
		scale := q.In(1)
		if !m.sameNumbers(scale, m.root.In(1)) || !m.sameNumbers(q.In(2), m.root.In(2)) {
			return nil
		}
		f := &fused{std.FakeQuantizeConfig{Axis: quantize.Axis, BlockSize: quantize.BlockSize, To: m.typ("integers").DType}, values(m.named["x"], scale)}
		if zero := q.In(2); zero != nil {
			f.in = append(f.in, operand{value: zero})
			return f
		}
		f.in = append(f.in, operand{constant: dtype.New(f.config.(std.FakeQuantizeConfig).To, m.w.at(scale).typ.Sizes()...)})
		return f
	}}
}

// sameNumbers says whether two values, or their absence, are the same or known to be equal.
func (m *matching) sameNumbers(a, b *Value) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil {
		return false
	}
	x, ok1 := m.w.at(a).known.Value.(*tensor.Dense)
	y, ok2 := m.w.at(b).known.Value.(*tensor.Dense)
	return ok1 && ok2 && x.Dtype() == y.Dtype() && x.Shape().Eq(y.Shape()) && bytes.Equal(dtype.Bytes(x), dtype.Bytes(y))
}
