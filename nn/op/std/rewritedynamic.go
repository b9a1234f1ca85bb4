package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// dynamicRules are values that are quantized by the scale that they need, where a gradient is asked for: multiplied by integer
// weights and scaled, as ONNX Runtime's dynamic quantization writes a layer, or dequantized at once. The gradient
// passes straight through the rounding, and the scale is taken as given, as with quantizeRule.
func dynamicRules() []op.Rewrite {
	q, w := op.Anything("integers"), op.Anything("weights")
	product := on("Cast", op.Either(on("MatMulInteger", q, w).As("product"), on("ConvInteger", q, w).As("product")))
	scales := on("Mul", op.Anything("scale"), op.Anything("weight scale")).AlsoRead()
	return []op.Rewrite{
		{Name: "dynamic quantization", Pattern: on("Mul", product, scales), Build: dynamicProductOf},
		{Name: "dynamic fake quantization", Pattern: on("DequantizeLinear", q, op.Anything("scale")).As("again"), Build: func(m op.Match) *op.Replacement {
			zero := m.Input(m.Value("again"), 2)
			x, ok := dynamicallyQuantized(m, zero)
			if !ok {
				return nil
			}
			return &op.Replacement{Config: FakeQuantizeConfig{To: dtype.Uint8}, In: []op.Source{x, m.Value("scale"), zero}}
		}},
	}
}

func dynamicProductOf(m op.Match) *op.Replacement {
	product := m.Value("product")
	zero := m.Input(product, 2)
	x, ok := dynamicallyQuantized(m, zero)
	if !ok {
		return nil
	}
	config := DynamicProductConfig{}
	if c, ok := configOf(m, "product").(ConvIntegerConfig); ok {
		config = DynamicProductConfig{Convolves: true, Conv: ConvConfig(c)}
	}
	in := []op.Source{x, m.Value("scale"), zero, m.Value("weights"), m.Value("weight scale")}
	if z := m.Input(product, 3); z.Present() {
		in = append(in, z)
	}
	return &op.Replacement{Config: config, In: in}
}

// dynamicallyQuantized returns the value of which DynamicQuantizeLinear made the integers, the scale and the zero point of the
// match, where a gradient by it is asked for.
func dynamicallyQuantized(m op.Match, zero op.Source) (x op.Source, ok bool) {
	integers, scale := m.Value("integers"), m.Value("scale")
	x = m.Input(integers, 0)
	for _, s := range []op.Source{integers, scale, zero} {
		c := m.Call(s)
		if c == nil || c.Op.Operator() != op.Plain("DynamicQuantizeLinear").Operator() || m.Input(s, 0).Ref != x.Ref {
			return x, false
		}
	}
	return x, x.Gradient && integers.Ref != zero.Ref && scale.Type.DType == dtype.Float32 && integers.Type.Rank() == x.Type.Rank()
}
