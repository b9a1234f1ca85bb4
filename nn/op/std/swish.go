package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/op"
)

// SwishConfig has the attributes of Swish. Alpha is 1 when nil.
type SwishConfig struct {
	Alpha *float32 `onnx:"alpha,nil=1"`
}

// Operator makes SwishConfig a Config.
func (SwishConfig) Operator() op.Name { return op.Name{Name: "Swish"} }

func swish() []*op.Op {
	return pointwiseOp{
		name: "Swish", doc: "x·sigmoid(alpha·x).", since: []int{24}, decompose: decomposeSwish, attrs: SwishConfig{},
		traits: gatedLinear(),
		of: func(c op.Config) pointwise {
			a := orFloat(c.(SwishConfig).Alpha, 1)
			var act elementwise.Activation
			if a == 1 {
				act.Kind = elementwise.ActSilu
			}
			return pointwise{f: func(x float64) float64 { return x * sigmoid(a*x) }, need: "x", act: act,
				grad: func(x, _, dy float64) float64 {
					s := sigmoid(a * x)
					return dy * (s + a*x*s*(1-s))
				},
				f32: swishOf(float32(a)), f64: swishOf(a), g32: swishGradOf(float32(a)), g64: swishGradOf(a)}
		},
	}.ops()
}

func swishOf[T kernel.Float](a T) func(p *kernel.Pool, dst, x []T) {
	return func(p *kernel.Pool, dst, x []T) { elementwise.Swish(p, a, dst, x) }
}

func swishGradOf[T kernel.Float](a T) func(p *kernel.Pool, dx, dy, x []T) {
	return func(p *kernel.Pool, dx, dy, x []T) { elementwise.SwishGrad(p, a, dx, dy, x) }
}

func decomposeSwish(n *op.Spelling) error {
	gate, err := spellGate(n, n.In[0], n.Config.(SwishConfig).Alpha)
	if err != nil {
		return err
	}
	n.Give(0, n.Before("", op.Plain("Mul"), n.In[0], gate))
	return nil
}

// spellGate is sigmoid(alpha·x); alpha is 1 when nil.
func spellGate(n *op.Spelling, x *op.Operand, alpha *float32) (*op.Operand, error) {
	if a := orFloat(alpha, 1); a != 1 {
		factor, err := n.Filled("alpha", n.DType(0), float64(a))
		if err != nil {
			return nil, err
		}
		x = n.Before("product", op.Plain("Mul"), x, factor)
	}
	return n.Before("sigmoid", op.Plain("Sigmoid"), x), nil
}
