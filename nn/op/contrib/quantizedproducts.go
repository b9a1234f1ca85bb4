package contrib

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// QGemmConfig has the attributes of QGemm.
type QGemmConfig struct {
	Alpha  *float32 `onnx:"alpha"`  // nil: 1
	TransA bool     `onnx:"transA"` // transpose A
	TransB bool     `onnx:"transB"` // transpose B
}

// Operator names the operator.
func (QGemmConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "QGemm"} }

func qlinearProducts() []*op.Op {
	const pinned = "weights are integers with scales"
	return []*op.Op{
		composed(op.Op{Name: "QGemm", Cost: counted, Doc: "alpha·(A·B + C) on quantized matrices, either of them transposed; quantized again where Y has a scale.",
			In:  "A TA, a_scale T, a_zero_point TA, B TB, b_scale T, b_zero_point TB, C? int32, y_scale? T, y_zero_point? TYZ",
			Out: "Y TY", Where: op.Where{"T": op.Floats(), "TA": bytes(), "TB": bytes(), "TYZ": bytes()}, Attrs: QGemmConfig{}, Pinned: pinned}, qGemm),
		composed(op.Op{Name: "MatMulIntegerToFloat", Cost: counted, Doc: "The product of quantized matrices as floats, plus bias.",
			In:  "A T1, B T2, a_scale T3, b_scale T3, a_zero_point? T1, b_zero_point? T2, bias? T3 weight",
			Out: "Y T3", Where: op.Where{"T1": bytes(), "T2": bytes(), "T3": op.Floats()}, Pinned: pinned},
			func(e *expression, in []value) []value {
				e.single(in[4], "the zero point of A")
				y := e.do(op.Plain("MatMulInteger"), in[0], in[1], e.scalar(in[4]), in[5])
				return []value{e.biased(e.scaled(y, in[2], in[3]), in[6])}
			}),
		composed(op.Op{Name: "DynamicQuantizeMatMul", Cost: counted, Doc: "The product of A, quantized with the scale that its values need, and a quantized matrix, plus bias. Gradients pass straight through the rounding of A.",
			In:  "A float32, B T2, b_scale float32, b_zero_point? T2, bias? float32 weight",
			Out: "Y float32", Where: op.Where{"T2": bytes()}, Pinned: pinned},
			func(e *expression, in []value) []value {
				q := e.doN(3, op.Plain("DynamicQuantizeLinear"), in[0])
				a := e.do(std.FakeQuantizeConfig{To: dtype.Uint8}, in[0], q[1], q[2])
				y := e.do(op.Plain("MatMul"), a, e.centered(in[1], in[3], dtype.Float32))
				return []value{e.biased(e.mul(y, in[2]), in[4])}
			}),
	}
}

// scaled multiplies integers by two scales, in the type of these, without intermediate values beyond float16's range.
func (e *expression) scaled(y, a, b value) value {
	to := a.typ.DType
	t := to
	if t == dtype.Float16 || t == dtype.BFloat16 {
		t = dtype.Float32
	}
	return e.cast(e.mul(e.cast(y, t), e.mul(e.cast(a, t), e.cast(b, t))), to)
}

// biased adds a bias if there is one.
func (e *expression) biased(y, bias value) value {
	if !bias.there() {
		return y
	}
	return e.add(y, bias)
}

// centered subtracts the zero points from x, if there are any, in floating point.
func (e *expression) centered(x, zero value, t op.DType) value {
	if !zero.there() {
		return e.cast(x, t)
	}
	return e.do(op.Plain("Sub"), e.cast(x, t), e.cast(zero, t))
}

func qGemm(e *expression, in []value) []value {
	c := e.c.Config.(QGemmConfig)
	e.single(in[1], "the scale of A")
	e.single(in[2], "the zero point of A")
	if in[7].there() != in[8].there() {
		e.failf("has one of y_scale and y_zero_point, want both or none")
	}
	a, b := in[0], in[3]
	for i, v := range []value{a, b} {
		if len(v.typ.Shape) != 2 {
			e.failf("%s is %v, want a matrix", []string{"A", "B"}[i], v.typ)
		}
	}
	if e.err != nil {
		return []value{{}}
	}
	if c.TransA {
		a = e.transpose(a, 1, 0)
	}
	if c.TransB {
		b = e.transpose(b, 1, 0)
	}
	y := e.do(op.Plain("MatMulInteger"), a, b, e.scalar(in[2]), in[5])
	if in[6].there() {
		y = e.add(y, in[6])
	}
	y = e.scaled(y, e.scale(e.scalar(in[1]), or(c.Alpha, 1)), in[4])
	if in[7].there() {
		y = e.requantized(y, in[7], in[8], in[8].typ.DType)
	}
	return []value{y}
}
