package contrib

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/nn/op/trait"
)

// QuantizeLinearConfig has the attribute of QuantizeLinear in this domain, which has no blocks.
type QuantizeLinearConfig struct {
	Axis *int `onnx:"axis"` // of the scales; 1 when nil
}

// Operator names the operator.
func (QuantizeLinearConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "QuantizeLinear"}
}

// DequantizeLinearConfig has the attribute of DequantizeLinear in this domain, which is that of QuantizeLinear.
type DequantizeLinearConfig QuantizeLinearConfig

// Operator names the operator.
func (DequantizeLinearConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "DequantizeLinear"}
}

func (c QuantizeLinearConfig) standard() std.QuantizeLinearConfig {
	return std.QuantizeLinearConfig{Axis: c.Axis}
}

func (c DequantizeLinearConfig) standard() std.DequantizeLinearConfig {
	return std.DequantizeLinearConfig{Axis: c.Axis}
}

// standardQuantizer returns the standard's configuration that means the same.
func standardQuantizer(c op.Config) op.Config {
	switch c := c.(type) {
	case QuantizeLinearConfig:
		return c.standard()
	case DequantizeLinearConfig:
		return c.standard()
	}
	return c
}

// quantizerRules let gradients pass straight through values that operators of this domain, or one of them and one of the
// standard, quantize and dequantize.
func quantizerRules() []op.Rewrite {
	q, standard := op.Name{Domain: Domain, Name: "QuantizeLinear"}, op.Plain("QuantizeLinear")
	return []op.Rewrite{
		std.FakeQuantization("fake quantization of "+Domain, op.Name{Domain: Domain, Name: "DequantizeLinear"}, standardQuantizer, q, standard),
		std.FakeQuantization("fake quantization from "+Domain, op.Plain("DequantizeLinear"), standardQuantizer, q),
	}
}

func quantizers() []*op.Op {
	floats := op.Floats()
	few := []op.DType{dtype.Int8, dtype.Uint8, dtype.Int16, dtype.Uint16, dtype.Int4, dtype.Uint4}
	return []*op.Op{
		composed(op.Op{Name: "QuantizeLinear", Doc: "QuantizeLinear, before the standard had integers of 16 and of 4 bits.",
			In: "x T1, y_scale T1, y_zero_point? T2", Out: "y T2", Where: op.Where{"T1": floats, "T2": few}, Attrs: QuantizeLinearConfig{},
			NoGrad: "rounds; with DequantizeLinear right after it, gradients pass straight through",
			Traits: op.Traits{StraightThrough: true, Moves: trait.Moved}, Couple: func(c *op.Call) []coupling.Coupling {
				return couplingsAs(c, c.Config.(QuantizeLinearConfig).standard(), 3)
			}},
			func(e *expression, in []value) []value {
				return []value{e.do(e.c.Config.(QuantizeLinearConfig).standard(), in...)}
			}),
		composed(op.Op{Name: "DequantizeLinear", Doc: "DequantizeLinear, before the standard had integers of 16 and of 4 bits.",
			In: "x T1 fixed, x_scale T2, x_zero_point? T1 fixed", Out: "y T2", Where: op.Where{"T1": append(few, dtype.Int32), "T2": floats}, Attrs: DequantizeLinearConfig{},
			Traits: op.Traits{Moves: trait.Moved}, Couple: func(c *op.Call) []coupling.Coupling {
				return couplingsAs(c, c.Config.(DequantizeLinearConfig).standard(), 3)
			}},
			func(e *expression, in []value) []value {
				return []value{e.do(e.c.Config.(DequantizeLinearConfig).standard(), in...)}
			}),
	}
}
