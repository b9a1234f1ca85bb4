package contrib

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// The operators of quantized() have integer inputs with a scale and a zero point each, compute on the dequantized
// values, and quantize the result with its own scale and zero point: y = round(f((x − zero)·scale…)/y_scale) + y_zero,
// clipped to the range of the integers. They have no gradient with respect to integers.

// QLinearLeakyReluConfig has the attribute of QLinearLeakyRelu, 0.01 when nil.
type QLinearLeakyReluConfig struct {
	Alpha *float32 `onnx:"alpha"`
}

// Operator names the operator.
func (QLinearLeakyReluConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "QLinearLeakyRelu"}
}

// QLinearSoftmaxConfig has the attributes of QLinearSoftmax.
type QLinearSoftmaxConfig struct {
	Axis  *int `onnx:"axis"`           // nil: the last
	Opset int  `onnx:"opset,required"` // before 13 the softmax runs over all axes from Axis on
}

// Operator names the operator.
func (QLinearSoftmaxConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "QLinearSoftmax"}
}

// QLinearConcatConfig has the attribute of QLinearConcat.
type QLinearConcatConfig struct {
	Axis int `onnx:"axis,required"` // from −rank to rank−1
}

// Operator names the operator.
func (QLinearConcatConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "QLinearConcat"}
}

const noFloats = "no output is a float"

// bytes returns the element types of quantized numbers that most operators accept.
func bytes() []op.DType { return []op.DType{dtype.Int8, dtype.Uint8} }

// quantized returns the operators of this file and its neighbours.
func quantized() []*op.Op {
	return slices.Concat(qlinear(), qlinearPools(), qlinearProducts(), quantizers(), []*op.Op{qAttention(), dynamicQuantizeLSTM()})
}

func qlinear() []*op.Op {
	where := op.Where{"T": bytes()}
	const two = "A T, A_scale float32, A_zero_point? T, B T, B_scale float32, B_zero_point? T, C_scale float32, C_zero_point? T"
	const one = "X T, X_scale float32, X_zero_point? T, Y_scale float32, Y_zero_point? T"
	const pinned = "the integers around it have scales"
	type rounding func(e *expression, y, scale, zero value, to op.DType) value
	binary := func(name, doc string, rounded rounding) *op.Op {
		return composed(op.Op{Name: "QLinear" + name, Doc: doc, In: two, Out: "C T", Where: where, NoGrad: noFloats, Pinned: pinned},
			func(e *expression, in []value) []value {
				y := e.do(op.Plain(name), e.dequantized(in, 0, "A"), e.dequantized(in, 3, "B"))
				return []value{rounded(e, y, in[6], in[7], in[0].typ.DType)}
			})
	}
	unary := func(o op.Op, f func(e *expression, x value) value) *op.Op {
		o.In, o.Out, o.Where, o.NoGrad, o.Pinned = one, "Y T", where, noFloats, pinned
		return composed(o, func(e *expression, in []value) []value {
			return []value{e.requantized(f(e, e.dequantized(in, 0, "X")), in[3], in[4], in[0].typ.DType)}
		})
	}
	return []*op.Op{
		binary("Add", "Add on quantized numbers.", (*expression).shifted),
		binary("Mul", "Mul on quantized numbers.", (*expression).requantized),
		unary(op.Op{Name: "QLinearSigmoid", Doc: "Sigmoid on quantized numbers."},
			func(e *expression, x value) value { return e.do(op.Plain("Sigmoid"), x) }),
		unary(op.Op{Name: "QLinearLeakyRelu", Doc: "LeakyRelu on quantized numbers.", Attrs: QLinearLeakyReluConfig{}},
			func(e *expression, x value) value {
				alpha := float32(or(e.c.Config.(QLinearLeakyReluConfig).Alpha, 0.01))
				return e.do(std.LeakyReluConfig{Alpha: &alpha}, x)
			}),
		composed(op.Op{Name: "QLinearSoftmax", Doc: "Softmax on quantized numbers.",
			In: "X T, X_scale float32, x_zero_point? T, y_scale float32, y_zero_point T", Out: "Y T", Where: where,
			Attrs: QLinearSoftmaxConfig{}, NoGrad: noFloats, Pinned: pinned}, qlinearSoftmax),
		composed(op.Op{Name: "QLinearConcat", Doc: "Concat of quantized numbers: of tensors, each with its scale and zero point.",
			In: "Y_scale float32, Y_zero_point T, inputs* any", Out: "Y T", Where: where,
			Attrs: QLinearConcatConfig{}, NoGrad: noFloats, Pinned: pinned}, qlinearConcat),
	}
}

func qlinearSoftmax(e *expression, in []value) []value {
	c, x := e.c.Config.(QLinearSoftmaxConfig), e.dequantized(in, 0, "X")
	axis := -1
	if c.Axis != nil {
		axis = *c.Axis
	}
	var y value
	if c.Opset < 13 {
		y = e.flatSoftmax(x, axis)
	} else {
		y = e.do(std.SoftmaxConfig{Axis: &axis}, x)
	}
	inverse := e.do(op.Plain("Floor"), e.do(op.Plain("Reciprocal"), in[3])) // the runtime takes the scale as 1 over a whole number
	return []value{e.requantized(y, e.do(op.Plain("Reciprocal"), inverse), in[4], in[0].typ.DType)}
}

// flatSoftmax returns the softmax over all axes from axis on.
func (e *expression) flatSoftmax(x value, axis int) value {
	if e.err != nil {
		return value{}
	}
	shape, last := x.typ.Shape, -1
	axis, err := e.c.Axis(axis, len(shape))
	if err != nil {
		e.fail(err)
		return value{}
	}
	y := e.do(std.SoftmaxConfig{Axis: &last}, e.reshape(x, op.Product(shape[:axis]), op.Product(shape[axis:])))
	return e.reshape(y, shape...)
}

func qlinearConcat(e *expression, in []value) []value {
	if len(in) < 5 || len(in)%3 != 2 {
		e.failf("has %d inputs after Y_zero_point, want three for each tensor: the tensor, its scale and its zero point", len(in)-2)
		return []value{{}}
	}
	to := in[1].typ.DType
	var parts []value
	for i := 2; i < len(in); i += 3 {
		if x := in[i].typ; x.DType != to || !in[i+1].typ.DType.IsFloat() || in[i+2].there() && in[i+2].typ.DType != to {
			e.failf("inputs %d to %d are %v, %v and %v, want a tensor of %v, a float and a zero point of %v", i, i+2, x, in[i+1].typ, in[i+2].typ, to, to)
			return []value{{}}
		}
		parts = append(parts, e.dequantized(in, i, e.c.InputName(i)))
	}
	y := e.do(std.ConcatConfig{Axis: e.c.Config.(QLinearConcatConfig).Axis}, parts...)
	return []value{e.requantized(y, in[0], in[1], to)}
}

// dequantized returns the values of quantized input i, whose scale and zero point follow it.
func (e *expression) dequantized(in []value, i int, name string) value {
	e.single(in[i+1], "the scale of "+name)
	e.single(in[i+2], "the zero point of "+name)
	return e.do(std.DequantizeLinearConfig{}, in[i], e.scalar(in[i+1]), e.scalar(in[i+2]))
}

// requantized rounds y to integers of type to with a scale and a zero point, which may be absent.
func (e *expression) requantized(y, scale, zero value, to op.DType) value {
	e.single(scale, "the scale of the result")
	e.single(zero, "the zero point of the result")
	return e.do(std.QuantizeLinearConfig{Output: to}, y, e.scalar(scale), e.scalar(zero))
}

// shifted is requantized with the zero point added before rounding, as in ONNX Runtime's sums and
// means of windows: with an odd zero point ties are rounded to the other side.
func (e *expression) shifted(y, scale, zero value, to op.DType) value {
	e.single(zero, "the zero point of the result")
	e.single(scale, "the scale of the result")
	y = e.do(op.Plain("Div"), y, e.scalar(scale))
	if zero.there() {
		y = e.add(y, e.cast(e.scalar(zero), y.typ.DType))
	}
	return e.requantized(y, e.number(y, 1), value{}, to)
}

// single refuses a scale or a zero point of more than one element.
func (e *expression) single(v value, what string) {
	if v.there() && (len(v.typ.Shape) > 1 || len(v.typ.Shape) == 1 && v.typ.Shape[0].Differ(op.D(1))) {
		e.failf("%s is %v, want one number", what, v.typ)
	}
}

// scalar reshapes a single element to rank 0; an absent value remains absent.
func (e *expression) scalar(v value) value {
	if !v.there() || len(v.typ.Shape) == 0 {
		return v
	}
	return e.reshape(v)
}
