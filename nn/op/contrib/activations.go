package contrib

import (
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// QuickGeluConfig has the attribute of QuickGelu, 1.702 when nil.
type QuickGeluConfig struct {
	Alpha *float32 `onnx:"alpha"`
}

// Operator names the operator.
func (QuickGeluConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "QuickGelu"} }

// BiasSoftmaxConfig has the attributes of BiasSoftmax.
type BiasSoftmaxConfig struct {
	Axis           int  `onnx:"axis,default=1"` // first axis of the softmax, which runs over all from there on
	InnerBroadcast bool `onnx:"is_inner_broadcast,required"`
}

// Operator names the operator.
func (BiasSoftmaxConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "BiasSoftmax"} }

// activations are elementwise functions, with the operators that the optimizer fuses with them.
func activations() []*op.Op {
	floats := op.Where{"T": op.Floats()}
	return []*op.Op{
		composed(op.Op{Name: "Gelu", Doc: "x·Φ(x), Φ the normal distribution function.",
			In: "X T", Out: "Y T", Where: floats, Couple: op.Elementwise},
			func(e *expression, in []value) []value { return []value{e.do(std.GeluConfig{}, in[0])} }),
		composed(op.Op{Name: "QuickGelu", Doc: "x·sigmoid(alpha·x).",
			In: "X T", Out: "Y T", Where: floats, Attrs: QuickGeluConfig{}, Couple: op.Elementwise},
			func(e *expression, in []value) []value {
				alpha := float32(or(e.c.Config.(QuickGeluConfig).Alpha, 1.702))
				return []value{e.do(std.SwishConfig{Alpha: &alpha}, in[0])}
			}),
		composed(op.Op{Name: "FastGelu", Doc: "Gelu of X + bias in its form with the hyperbolic tangent.",
			In: "X T, bias? T weight", Out: "Y T", Where: floats, Couple: op.Elementwise},
			func(e *expression, in []value) []value {
				x := in[0]
				if in[1].there() {
					x = e.add(x, in[1])
				}
				return []value{e.do(std.GeluConfig{Approximate: "tanh"}, x)}
			}),
		composed(op.Op{Name: "BiasGelu", Doc: "Gelu of A + B, B along the last axis.",
			In: "A T, B T weight", Out: "C T", Where: floats, Couple: op.Elementwise},
			func(e *expression, in []value) []value { return []value{e.do(std.GeluConfig{}, e.add(in[0], in[1]))} }),
		composed(op.Op{Name: "BiasSplitGelu", Doc: "The first half of X + bias along the last axis, times Gelu of the second.",
			In: "X T, bias T weight", Out: "Y T", Where: floats, Pinned: "halves of the last axis are multiplied"},
			func(e *expression, in []value) []value {
				parts := e.doN(2, std.SplitConfig{Axis: -1, NumOutputs: 2}, e.add(in[0], in[1]))
				return []value{e.mul(parts[0], e.do(std.GeluConfig{}, parts[1]))}
			}),
		composed(op.Op{Name: "BiasAdd", Doc: "X + bias + skip, the bias along the last axis.",
			In: "X T, bias T weight, skip T", Out: "Y T", Where: floats, Couple: op.Elementwise},
			func(e *expression, in []value) []value { return []value{e.add(e.add(in[0], in[1]), in[2])} }),
		composed(op.Op{Name: "BiasSoftmax", Doc: "Softmax of data + bias over all axes from axis on.",
			In: "data T, bias T", Out: "output T", Where: floats, Attrs: BiasSoftmaxConfig{}, Pinned: "a softmax runs over the axes"},
			biasSoftmax),
	}
}

// biasSoftmax adds the bias over the axes before axis, either to each of them (inner) or to blocks of the batch.
func biasSoftmax(e *expression, in []value) []value {
	cfg, x := e.c.Config.(BiasSoftmaxConfig), in[0]
	rank := len(x.typ.Shape)
	axis, err := e.c.Axis(cfg.Axis, rank)
	if err != nil {
		e.fail(err)
		return []value{{}}
	}
	sum := e.add(x, in[1])
	rows, cols := op.D(1), op.D(1)
	for i, d := range x.typ.Shape {
		if i < axis {
			rows = rows.Mul(d)
		} else {
			cols = cols.Mul(d)
		}
	}
	last := 1
	y := e.do(std.SoftmaxConfig{Axis: &last}, e.reshape(sum, rows, cols))
	return []value{e.reshape(y, x.typ.Shape...)}
}

// activation applies the function that an attribute names, with its parameters.
func (e *expression) activation(name string, x value, params []float32) value {
	param := func(i int, otherwise float32) *float32 {
		if i < len(params) {
			return &params[i]
		}
		return &otherwise
	}
	switch name {
	case "":
		return x
	case "Relu", "Sigmoid", "Tanh", "Softplus", "Softsign", "HardSwish":
		return e.do(op.Plain(name), x)
	case "LeakyRelu":
		return e.do(std.LeakyReluConfig{Alpha: param(0, 0.01)}, x)
	case "Elu":
		return e.do(std.EluConfig{Alpha: param(0, 1)}, x)
	case "ThresholdedRelu":
		return e.do(std.ThresholdedReluConfig{Alpha: param(0, 1)}, x)
	case "HardSigmoid":
		return e.do(std.HardSigmoidConfig{Alpha: param(0, 0.2), Beta: param(1, 0.5)}, x)
	case "Clip":
		if len(params) < 2 {
			e.failf("the activation Clip has %d parameters, want 2", len(params))
			return value{}
		}
		return e.do(std.ClipConfig{}, x, e.number(x, float64(params[0])), e.number(x, float64(params[1])))
	}
	e.failf("the activation %q is not known", name)
	return value{}
}
