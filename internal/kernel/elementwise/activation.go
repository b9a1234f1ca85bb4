package elementwise

import (
	"math"
	"strings"

	"github.com/graft-ml/graft/internal/kernel"
)

// ActivationKind is an activation function: of ONNX's recurrent operators, or of an Epilogue.
type ActivationKind uint8

const (
	ActDefault         ActivationKind = iota // the default of the operator
	ActTanh                                  // tanh(x)
	ActSigmoid                               // 1/(1+exp(-x))
	ActRelu                                  // max(0, x)
	ActAffine                                // alpha*x + beta
	ActLeakyRelu                             // x, or alpha*x below 0; alpha is positive
	ActThresholdedRelu                       // x, or 0 up to alpha
	ActScaledTanh                            // alpha*tanh(beta*x)
	ActHardSigmoid                           // alpha*x + beta clipped to [0, 1]
	ActElu                                   // x, or alpha*(exp(x)-1) below 0
	ActSoftsign                              // x/(1+|x|)
	ActSoftplus                              // log(1+exp(x))

	// Those below exist as epilogues only.
	ActSelu      // x, or alpha*(exp(x)-1) below 0, times beta
	ActClip      // x between alpha and beta
	ActHardSwish // x*(x/6 + 1/2 clipped to [0, 1])
	ActSilu      // x/(1+exp(-x))
	ActGelu      // x*(1+erf(x/sqrt(2)))/2
	ActGeluTanh  // the same by tanh, see GeluTanh
)

// Activation is a function with its parameters, which are always used as given, and by the
// functions without any ignored;
// ActivationByName fills in ONNX's defaults.
type Activation struct {
	Kind        ActivationKind
	Alpha, Beta float64
}

// ActivationByName finds an activation by its ONNX name, in any case, with the
// default alpha and beta of the operator of that name.
func ActivationByName(name string) (Activation, bool) {
	switch strings.ToLower(name) {
	case "tanh":
		return Activation{Kind: ActTanh}, true
	case "sigmoid":
		return Activation{Kind: ActSigmoid}, true
	case "relu":
		return Activation{Kind: ActRelu}, true
	case "affine":
		return Activation{ActAffine, 1, 0}, true
	case "leakyrelu":
		return Activation{ActLeakyRelu, 0.01, 0}, true
	case "thresholdedrelu":
		return Activation{ActThresholdedRelu, 1, 0}, true
	case "scaledtanh":
		return Activation{ActScaledTanh, 1, 1}, true
	case "hardsigmoid":
		return Activation{ActHardSigmoid, 0.2, 0.5}, true
	case "elu":
		return Activation{ActElu, 1, 0}, true
	case "softsign":
		return Activation{Kind: ActSoftsign}, true
	case "softplus":
		return Activation{Kind: ActSoftplus}, true
	}
	return Activation{}, false
}

// Or returns a, or the given kind if a is ActDefault.
func (a Activation) Or(kind ActivationKind) Activation {
	if a.Kind == ActDefault {
		a.Kind = kind
	}
	return a
}

// Apply replaces x by f(x).
func Apply[T kernel.Float](a Activation, x []T) {
	switch a.Kind {
	case ActTanh:
		tanhInto(x, x)
	case ActSigmoid:
		sigmoidInto(x, x)
	case ActRelu:
		ReluInto(x, x)
	case ActLeakyRelu:
		leakyInto(T(a.Alpha), x, x)
	case ActElu:
		Exponential[T]{T(a.Alpha), 1, 1}.into(x, x)
	case ActSoftplus:
		softplusInto(x, x)
	default:
		for i, v := range x {
			x[i] = T(a.Value(float64(v)))
		}
	}
}

func (a Activation) Value(x float64) float64 {
	switch a.Kind {
	case ActAffine:
		return a.Alpha*x + a.Beta
	case ActLeakyRelu:
		if x < 0 {
			return a.Alpha * x
		}
	case ActThresholdedRelu:
		if !(x > a.Alpha) {
			return 0
		}
	case ActScaledTanh:
		return a.Alpha * math.Tanh(a.Beta*x)
	case ActHardSigmoid:
		return min(max(a.Alpha*x+a.Beta, 0), 1)
	case ActElu:
		if x < 0 {
			return a.Alpha * math.Expm1(x)
		}
	case ActSoftsign:
		return x / (1 + math.Abs(x))
	case ActSoftplus:
		return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
	}
	return x
}

// TimesSlopeAt multiplies d by the derivative of f at the point where its value is y.
func TimesSlopeAt[T kernel.Float](a Activation, y, d []T) {
	switch fast := kernel.Vectorizable(d, y); {
	case fast && a.Kind == ActTanh:
		tanhgradVV(len(d), &kernel.Float32s(d)[0], &kernel.Float32s(d)[0], &kernel.Float32s(y)[0])
	case fast && a.Kind == ActSigmoid:
		sigmoidgradVV(len(d), &kernel.Float32s(d)[0], &kernel.Float32s(d)[0], &kernel.Float32s(y)[0])
	case a.Kind == ActTanh:
		for i, v := range y {
			d[i] *= 1 - v*v
		}
	case a.Kind == ActSigmoid:
		for i, v := range y {
			d[i] *= v * (1 - v)
		}
	default:
		for i, v := range y {
			d[i] *= T(a.slope(float64(v)))
		}
	}
}

func (a Activation) slope(y float64) float64 {
	switch a.Kind {
	case ActRelu:
		return positive(y > 0)
	case ActAffine:
		return a.Alpha
	case ActLeakyRelu:
		if y < 0 {
			return a.Alpha
		}
	case ActThresholdedRelu:
		return positive(y != 0)
	case ActScaledTanh:
		t := y / a.Alpha
		return a.Alpha * a.Beta * (1 - t*t)
	case ActHardSigmoid:
		return a.Alpha * positive(y > 0 && y < 1)
	case ActElu:
		if y < 0 {
			return y + a.Alpha
		}
	case ActSoftsign:
		t := 1 - math.Abs(y)
		return t * t
	case ActSoftplus:
		return -math.Expm1(-y)
	}
	return 1
}

func positive(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
