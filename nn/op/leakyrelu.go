package op

import "github.com/graft-ml/graft/internal/kernel"

// LeakyReluConfig has the attributes of LeakyRelu. Alpha is 0.01 when nil.
type LeakyReluConfig struct {
	Alpha *float32 `onnx:"alpha"`
}

// Op makes LeakyReluConfig a Config.
func (LeakyReluConfig) Op() *Op { return standard("", "LeakyRelu") }

func leakyRelu() []*Op {
	return pointwiseOp{
		name: "LeakyRelu", doc: "x where positive, alpha·x elsewhere.", since: []int{1, 6, 16}, attrs: LeakyReluConfig{},
		of: func(c Config) pointwise {
			a := orFloat(c.(LeakyReluConfig).Alpha, float64(float32(0.01)))
			p := slopes("x", leaky(float32(a)), leaky(a), leakyGrad(float32(a)), leakyGrad(a))
			if a <= 1 {
				p.f32 = blocked(leakyBlock(float32(a)))
			}
			p.act = kernel.Activation{Kind: kernel.ActLeakyRelu, Alpha: a}
			return p
		},
	}.ops()
}

func leaky[T kernel.Float](a T) func(x T) T {
	return func(x T) T {
		if x < 0 {
			return a * x
		}
		return x
	}
}

func leakyGrad[T kernel.Float](a T) func(dy, x T) T {
	return func(dy, x T) T {
		if x > 0 {
			return dy
		}
		return a * dy
	}
}
