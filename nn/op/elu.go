package op

import "github.com/graft-ml/graft/internal/kernel"

// EluConfig has the attributes of Elu. Alpha is 1 when nil.
type EluConfig struct {
	Alpha *float32 `onnx:"alpha"`
}

// Op makes EluConfig a Config.
func (EluConfig) Op() *Op { return standard("", "Elu") }

func elu() []*Op {
	return pointwiseOp{
		name: "Elu", doc: "x where positive, alpha·(e^x − 1) elsewhere.", since: []int{1, 6, 22}, attrs: EluConfig{},
		of: func(c Config) pointwise {
			a := orFloat(c.(EluConfig).Alpha, 1)
			return scaledElu(a, 1, 1)
		},
	}.ops()
}

// scaledElu is gamma·x where x is positive and gamma·alpha·(e^(x·inner) − 1) elsewhere.
func scaledElu(alpha, gamma, inner float64) pointwise {
	return slopes("x", eluOf(float32(alpha), float32(gamma), float32(inner)), eluOf(alpha, gamma, inner),
		eluGradOf(float32(alpha), float32(gamma), float32(inner)), eluGradOf(alpha, gamma, inner))
}

func eluOf[T kernel.Float](alpha, gamma, inner T) func(x T) T {
	return func(x T) T {
		if x > 0 {
			return gamma * x
		}
		return gamma * alpha * expm1Of(x*inner)
	}
}

func eluGradOf[T kernel.Float](alpha, gamma, inner T) func(dy, x T) T {
	return func(dy, x T) T {
		if x > 0 {
			return gamma * dy
		}
		return dy * gamma * alpha * inner * expOf(x*inner)
	}
}
