package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/op"
)

// EluConfig has the attributes of Elu. Alpha is 1 when nil.
type EluConfig struct {
	Alpha *float32 `onnx:"alpha,nil=1"`
}

// Operator makes EluConfig a Config.
func (EluConfig) Operator() op.Name { return op.Name{Name: "Elu"} }

func elu() []*op.Op {
	return pointwiseOp{
		name: "Elu", doc: "x where positive, alpha·(e^x − 1) elsewhere.", since: []int{1, 6, 22}, attrs: EluConfig{},
		traits: rectifier(),
		of: func(c op.Config) pointwise {
			return exponential(elementwise.Exponential[float64]{Alpha: orFloat(c.(EluConfig).Alpha, 1), Gamma: 1, Inner: 1})
		},
	}.ops()
}

// exponential makes the functions of Elu and its relatives.
func exponential(e elementwise.Exponential[float64]) pointwise {
	single := elementwise.Exponential[float32]{Alpha: float32(e.Alpha), Gamma: float32(e.Gamma), Inner: float32(e.Inner)}
	p := pointwise{
		f32: func(p *kernel.Pool, dst, x []float32) { elementwise.Elu(p, single, dst, x) },
		f64: func(p *kernel.Pool, dst, x []float64) { elementwise.Elu(p, e, dst, x) },
	}
	if e.Inner == 1 {
		p.act = elementwise.Activation{Kind: elementwise.ActSelu, Alpha: e.Alpha, Beta: e.Gamma}
	}
	left := e.Gamma * e.Alpha * e.Inner // the slope at 0 from the left
	if e.Gamma < 0 || left < 0 {        // the sign of the result does not tell that of x
		p.need = "x"
		p.grad = func(x, _, dy float64) float64 {
			if x > 0 {
				return dy * e.Gamma
			}
			return dy * left * math.Exp(e.Inner*x)
		}
		return p
	}
	p.need = "y"
	p.g32 = func(p *kernel.Pool, dx, dy, y []float32) { elementwise.EluGrad(p, single, dx, dy, y) }
	p.g64 = func(p *kernel.Pool, dx, dy, y []float64) { elementwise.EluGrad(p, e, dx, dy, y) }
	return p
}
