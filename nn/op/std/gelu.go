package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/op"
)

// GeluConfig has the attributes of Gelu: Approximate is "none" (the error function) or "tanh".
type GeluConfig struct {
	Approximate string `onnx:"approximate,default=none"`
}

// Operator makes GeluConfig a Config.
func (GeluConfig) Operator() op.Name { return op.Name{Name: "Gelu"} }

func gelu() []*op.Op {
	list := pointwiseOp{
		name: "Gelu", doc: "x·Φ(x), Φ the normal distribution function.", since: []int{20}, decompose: decomposeGelu, attrs: GeluConfig{},
		traits: gatedLinear(),
		of: func(c op.Config) pointwise {
			if c.(GeluConfig).Approximate == "tanh" {
				return pointwise{f: geluTanh, need: "x", grad: geluTanhGrad,
					act: elementwise.Activation{Kind: elementwise.ActGeluTanh},
					f32: elementwise.GeluTanh[float32], f64: elementwise.GeluTanh[float64], g32: elementwise.GeluTanhGrad[float32], g64: elementwise.GeluTanhGrad[float64]}
			}
			return pointwise{f: geluErf, need: "x", grad: geluErfGrad,
				act: elementwise.Activation{Kind: elementwise.ActGelu},
				f32: elementwise.Gelu[float32], f64: elementwise.Gelu[float64], g32: elementwise.GeluGrad[float32], g64: elementwise.GeluGrad[float64]}
		},
	}.ops()
	list[0].Scheduling.Cheap = true
	list[0].Check = func(c *op.Call) error {
		if a := c.Config.(GeluConfig).Approximate; a != "none" && a != "tanh" {
			return c.Errorf("approximate is %q, want none or tanh", a)
		}
		return nil
	}
	return list
}

func geluErf(x float64) float64 { return x * 0.5 * (1 + math.Erf(x/math.Sqrt2)) }

func geluErfGrad(x, _, dy float64) float64 {
	return dy * (0.5*(1+math.Erf(x/math.Sqrt2)) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi))
}

// The argument of the hyperbolic tangent is c·(x + 0.044715·x³).
var geluC = math.Sqrt(2 / math.Pi)

const geluCube = 0.044715

func geluTanh(x float64) float64 { return 0.5 * x * (1 + math.Tanh(geluC*(x+geluCube*x*x*x))) }

func geluTanhGrad(x, _, dy float64) float64 {
	t := math.Tanh(geluC * (x + geluCube*x*x*x))
	return dy * (0.5*(1+t) + 0.5*x*(1-t*t)*geluC*(1+3*geluCube*x*x))
}

// decomposeGelu is ½x(1+erf(x/√2)), or ½x(1+tanh(√(2/π)(x+0.044715x³))).
func decomposeGelu(n *op.Spelling) error {
	var failed error
	scalar := func(name string, v float64) *op.Operand {
		x, err := n.Filled(name, n.DType(0), v)
		if err != nil {
			failed = err
		}
		return x
	}
	times := func(name string, a, b *op.Operand) *op.Operand { return n.Before(name, op.Plain("Mul"), a, b) }
	x := n.In[0]
	var inner *op.Operand
	if n.Config.(GeluConfig).Approximate == "tanh" {
		cube := times("cubic", times("cube", times("square", x, x), x), scalar("factor", 0.044715))
		inner = n.Before("inner", op.Plain("Tanh"), times("argument", n.Before("sum", op.Plain("Add"), x, cube), scalar("slope", math.Sqrt(2/math.Pi))))
	} else {
		inner = n.Before("inner", op.Plain("Erf"), n.Before("argument", op.Plain("Div"), x, scalar("root", math.Sqrt2)))
	}
	y := times("gated", x, n.Before("gate", op.Plain("Add"), inner, scalar("one", 1)))
	n.Give(0, times("", y, scalar("half", 0.5)))
	return failed
}
