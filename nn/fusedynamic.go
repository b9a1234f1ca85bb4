package nn

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// dynamicRules are values that are quantized by the scale that they need, where a gradient is asked for: multiplied by integer
// weights and scaled, as ONNX Runtime's dynamic quantization writes a layer, or dequantized at once. The gradient
// passes straight through the rounding, and the scale is taken as given, as with quantizeRule.
func dynamicRules() []rule {
	q, w := anything("integers"), anything("weights")
	product := on("Cast", either(on("MatMulInteger", q, w).as("product"), on("ConvInteger", q, w).as("product")))
	scales := on("Mul", anything("scale"), anything("weight scale")).alsoRead()
	return []rule{
		{"dynamic quantization", on("Mul", product, scales), dynamicProduct},
		{"dynamic fake quantization", on("DequantizeLinear", q, anything("scale")), func(m *matching) *fused {
			x := m.dynamicallyQuantized(m.root.In(2))
			if x == nil {
				return nil
			}
			return &fused{std.FakeQuantizeConfig{To: dtype.Uint8}, values(x, m.named["scale"], m.root.In(2))}
		}},
	}
}

func dynamicProduct(m *matching) *fused {
	n := m.named["product"].producer
	x := m.dynamicallyQuantized(n.In(2))
	if x == nil {
		return nil
	}
	config := std.DynamicProductConfig{}
	if c, ok := n.config.(std.ConvIntegerConfig); ok {
		config = std.DynamicProductConfig{Convolves: true, Conv: std.ConvConfig(c)}
	}
	f := &fused{config, values(x, m.named["scale"], n.In(2), m.named["weights"], m.named["weight scale"])}
	if zero := n.In(3); zero != nil {
		f.in = append(f.in, operand{value: zero})
	}
	return f
}

// dynamicallyQuantized is the value whose integers, scale and zero point the match found, where a gradient by it is asked for.
func (m *matching) dynamicallyQuantized(zero *Value) *Value {
	d := m.named["integers"].producer
	if d == nil || d.op == nil || zero == nil {
		return nil
	}
	if d.op.Operator() != op.Plain("DynamicQuantizeLinear").Operator() || d.Out(0) != m.named["integers"] || d.Out(1) != m.named["scale"] || d.Out(2) != zero {
		return nil
	}
	if x := d.In(0); m.w.influenced[x] {
		return x
	}
	return nil
}
