package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/op"
)

// LeakyReluConfig has the attributes of LeakyRelu. Alpha is 0.01 when nil.
type LeakyReluConfig struct {
	Alpha *float32 `onnx:"alpha,nil=0.01"`
}

// Operator makes LeakyReluConfig a Config.
func (LeakyReluConfig) Operator() op.Name { return op.Name{Name: "LeakyRelu"} }

func leakyRelu() []*op.Op {
	return pointwiseOp{
		name: "LeakyRelu", doc: "x where positive, alpha·x elsewhere.", since: []int{1, 6, 16}, attrs: LeakyReluConfig{},
		traits: leakyTraits(),
		of: func(c op.Config) pointwise {
			a := orFloat(c.(LeakyReluConfig).Alpha, 0.01)
			p := pointwise{
				f32:  func(p *kernel.Pool, dst, x []float32) { elementwise.LeakyRelu(p, float32(a), dst, x) },
				f64:  func(p *kernel.Pool, dst, x []float64) { elementwise.LeakyRelu(p, a, dst, x) },
				g32:  func(p *kernel.Pool, dx, dy, at []float32) { elementwise.LeakyReluGrad(p, float32(a), dx, dy, at) },
				g64:  func(p *kernel.Pool, dx, dy, at []float64) { elementwise.LeakyReluGrad(p, a, dx, dy, at) },
				need: "y", act: elementwise.Activation{Kind: elementwise.ActLeakyRelu, Alpha: a},
			}
			if a < 0 {
				p.need = "x"
			}
			return p
		},
	}.ops()
}

func leakyTraits() op.Traits {
	t := rectifier()
	t.Odd = func(c *op.Call) (float64, float64, bool) {
		return 1 + orFloat(c.Config.(LeakyReluConfig).Alpha, 0.01), 1, true
	}
	return t
}
