package std

import (
	"bytes"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// quantizeRule returns a value that is quantized and dequantized at once. Where a gradient is asked for, it passes straight
// through the two, as it does when PyTorch trains such models; through integers there would be none. So it goes with each
// of several nodes that dequantize the same integers.
func quantizeRule() op.Rewrite {
	same := func(c op.Config) op.Config { return c }
	return FakeQuantization("fake quantization", op.Plain("DequantizeLinear"), same, op.Plain("QuantizeLinear"))
}

// FakeQuantization returns a rule for operators of another domain that quantize and dequantize like the standard ones. as
// returns the QuantizeLinearConfig or DequantizeLinearConfig that is equivalent to one of their configurations, and
// others unchanged. A value that passes through one of quantize and then through dequantize is computed by
// FakeQuantizeConfig if a gradient through it is needed.
func FakeQuantization(name string, dequantize op.Config, as func(op.Config) op.Config, quantize ...op.Config) op.Rewrite {
	alternatives := make([]op.Term, len(quantize))
	for i, q := range quantize {
		alternatives[i] = op.On(q, op.Anything("x")).As("integers").AlsoRead()
	}
	return op.Rewrite{Name: name, Pattern: op.On(dequantize, op.Either(alternatives...)).As("again"), Build: func(m op.Match) *op.Replacement {
		q, d := m.Value("integers"), m.Value("again")
		quantize, ok1 := as(configOf(m, "integers")).(QuantizeLinearConfig)
		dequantize, ok2 := as(configOf(m, "again")).(DequantizeLinearConfig)
		if !ok1 || !ok2 || !m.Value("x").Gradient || quantize.BlockSize != dequantize.BlockSize || !q.Type.DType.IsInteger() {
			return nil
		}
		if a, b := quantize.Axis, dequantize.Axis; (a == nil) != (b == nil) || a != nil && *a != *b {
			return nil
		}
		scale, zero := m.Input(q, 1), m.Input(q, 2)
		if !sameNumbers(scale, m.Input(d, 1)) || !sameNumbers(zero, m.Input(d, 2)) {
			return nil
		}
		if !zero.Present() {
			zero = op.Constant(dtype.New(q.Type.DType, scale.Type.Sizes()...))
		}
		cfg := FakeQuantizeConfig{Axis: quantize.Axis, BlockSize: quantize.BlockSize, To: q.Type.DType}
		return &op.Replacement{Config: cfg, In: []op.Source{m.Value("x"), scale, zero}}
	}}
}

// sameNumbers reports whether two values, or their absence, are the same or known to be equal.
func sameNumbers(a, b op.Source) bool {
	if a.Ref == b.Ref {
		return true
	}
	if !a.Present() || !b.Present() {
		return false
	}
	x, ok1 := a.Known.Value.(*tensor.Dense)
	y, ok2 := b.Known.Value.(*tensor.Dense)
	return ok1 && ok2 && x.Dtype() == y.Dtype() && slices.Equal(x.Shape(), y.Shape()) && bytes.Equal(dtype.Bytes(x), dtype.Bytes(y))
}
