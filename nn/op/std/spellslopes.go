package std

import (
	"math"

	"github.com/graft-ml/graft/nn/op"
)

// slope is dy·f'(x), spelled out. at is x or y = f(x), or both where the operator needs both.
type slope func(n formula, c op.Config, dy *op.Operand, at ...*op.Operand) *op.Operand

// slopesSpelled returns the slopes of operators on single elements, as the table unaries states them.
func slopesSpelled() map[string]slope {
	over := func(f func(n formula, x *op.Operand) *op.Operand) slope { // dy / f(x)
		return func(n formula, _ op.Config, dy *op.Operand, at ...*op.Operand) *op.Operand {
			return n.div(dy, f(n, at[0]))
		}
	}
	by := func(f func(n formula, x *op.Operand) *op.Operand) slope { // dy · f(x)
		return func(n formula, _ op.Config, dy *op.Operand, at ...*op.Operand) *op.Operand {
			return n.mul(dy, f(n, at[0]))
		}
	}
	fn := func(name string) func(n formula, x *op.Operand) *op.Operand {
		return func(n formula, x *op.Operand) *op.Operand { return n.do(op.Plain(name), x) }
	}
	return map[string]slope{
		"Abs":        by(fn("Sign")),
		"Neg":        func(n formula, _ op.Config, dy *op.Operand, _ ...*op.Operand) *op.Operand { return n.neg(dy) },
		"Reciprocal": by(func(n formula, y *op.Operand) *op.Operand { return n.neg(n.square(y)) }),
		"Sqrt":       over(func(n formula, y *op.Operand) *op.Operand { return n.times(y, 2) }),
		"Exp":        by(func(_ formula, y *op.Operand) *op.Operand { return y }),
		"Log":        over(func(_ formula, x *op.Operand) *op.Operand { return x }),
		"Erf": by(func(n formula, x *op.Operand) *op.Operand {
			return n.times(n.exp(n.neg(n.square(x))), twoOverSqrtPi)
		}),
		"Relu": func(n formula, _ op.Config, dy *op.Operand, at ...*op.Operand) *op.Operand {
			return n.gated(dy, n.greater(at[0], n.num(dy, 0)))
		},
		"Sigmoid":  by(func(n formula, y *op.Operand) *op.Operand { return n.mul(y, n.rsub(1, y)) }),
		"Tanh":     by(func(n formula, y *op.Operand) *op.Operand { return n.rsub(1, n.square(y)) }),
		"Softplus": by(func(n formula, y *op.Operand) *op.Operand { return n.rsub(1, n.exp(n.neg(y))) }),
		"Softsign": over(func(n formula, x *op.Operand) *op.Operand { return n.square(n.plus(n.do(op.Plain("Abs"), x), 1)) }),
		"Mish": by(func(n formula, x *op.Operand) *op.Operand {
			t := n.do(op.Plain("Tanh"), n.do(op.Plain("Softplus"), x))
			return n.add(t, n.mul(n.mul(x, n.do(op.Plain("Sigmoid"), x)), n.rsub(1, n.square(t))))
		}),
		"HardSwish": func(n formula, _ op.Config, dy *op.Operand, at ...*op.Operand) *op.Operand {
			x := at[0]
			inner := n.mul(dy, n.plus(n.times(x, 1.0/3), 0.5))
			upper := n.where(n.less(x, n.num(x, 3)), inner, dy)
			return n.gated(upper, n.greater(x, n.num(x, -3)))
		},
		"Sin":   by(fn("Cos")),
		"Cos":   by(func(n formula, x *op.Operand) *op.Operand { return n.neg(n.do(op.Plain("Sin"), x)) }),
		"Tan":   by(func(n formula, y *op.Operand) *op.Operand { return n.plus(n.square(y), 1) }),
		"Asin":  over(func(n formula, x *op.Operand) *op.Operand { return n.sqrt(n.rsub(1, n.square(x))) }),
		"Acos":  over(func(n formula, x *op.Operand) *op.Operand { return n.neg(n.sqrt(n.rsub(1, n.square(x)))) }),
		"Atan":  over(func(n formula, x *op.Operand) *op.Operand { return n.plus(n.square(x), 1) }),
		"Sinh":  by(fn("Cosh")),
		"Cosh":  by(fn("Sinh")),
		"Asinh": over(func(n formula, x *op.Operand) *op.Operand { return n.sqrt(n.plus(n.square(x), 1)) }),
		"Acosh": over(func(n formula, x *op.Operand) *op.Operand { return n.sqrt(n.plus(n.square(x), -1)) }),
		"Atanh": over(func(n formula, x *op.Operand) *op.Operand { return n.rsub(1, n.square(x)) }),

		"LeakyRelu": func(n formula, c op.Config, dy *op.Operand, at ...*op.Operand) *op.Operand {
			a := orFloat(c.(LeakyReluConfig).Alpha, 0.01)
			return n.where(n.greater(at[0], n.num(dy, 0)), dy, n.times(dy, a))
		},
		"Elu": func(n formula, c op.Config, dy *op.Operand, at ...*op.Operand) *op.Operand {
			return n.exponentialSlope(dy, at[0], orFloat(c.(EluConfig).Alpha, 1), 1, 1)
		},
		"Celu": func(n formula, c op.Config, dy *op.Operand, at ...*op.Operand) *op.Operand {
			a := orFloat(c.(CeluConfig).Alpha, 1)
			return n.exponentialSlope(dy, at[0], a, 1, 1/a)
		},
		"Selu": func(n formula, c op.Config, dy *op.Operand, at ...*op.Operand) *op.Operand {
			cfg := c.(SeluConfig)
			return n.exponentialSlope(dy, at[0], orFloat(cfg.Alpha, 1.67326319217681884765625), orFloat(cfg.Gamma, 1.05070102214813232421875), 1)
		},
		"HardSigmoid": func(n formula, c op.Config, dy *op.Operand, at ...*op.Operand) *op.Operand {
			y := at[0]
			inside := n.both(n.greater(y, n.num(y, 0)), n.less(y, n.num(y, 1)))
			return n.gated(n.times(dy, orFloat(c.(HardSigmoidConfig).Alpha, 0.2)), inside)
		},
		"Shrink": func(n formula, c op.Config, dy *op.Operand, at ...*op.Operand) *op.Operand {
			return n.gated(dy, n.greater(n.do(op.Plain("Abs"), at[0]), n.num(dy, orFloat(c.(ShrinkConfig).Lambd, 0.5))))
		},
		"ThresholdedRelu": func(n formula, c op.Config, dy *op.Operand, at ...*op.Operand) *op.Operand {
			return n.gated(dy, n.greater(at[0], n.num(dy, orFloat(c.(ThresholdedReluConfig).Alpha, 1))))
		},
		"Swish": func(n formula, c op.Config, dy *op.Operand, at ...*op.Operand) *op.Operand {
			ax := n.times(at[0], orFloat(c.(SwishConfig).Alpha, 1))
			s := n.do(op.Plain("Sigmoid"), ax)
			return n.mul(dy, n.add(s, n.mul(n.mul(ax, s), n.rsub(1, s))))
		},
		"Gelu": func(n formula, c op.Config, dy *op.Operand, at ...*op.Operand) *op.Operand {
			if c.(GeluConfig).Approximate == "tanh" {
				return n.mul(dy, n.geluTanhSlope(at[0]))
			}
			x := at[0]
			cdf := n.times(n.plus(n.do(op.Plain("Erf"), n.times(x, 1/math.Sqrt2)), 1), 0.5)
			pdf := n.times(n.exp(n.times(n.square(x), -0.5)), 1/math.Sqrt(2*math.Pi))
			return n.mul(dy, n.add(cdf, n.mul(x, pdf)))
		},
	}
}

// gated returns x where the test is true and 0 elsewhere, even if x is not finite there.
func (n formula) gated(x, test *op.Operand) *op.Operand { return n.where(test, x, n.num(x, 0)) }

// exponentialSlope writes the gradient of Elu and its relatives, from y if its sign is that of x.
func (n formula) exponentialSlope(dy, at *op.Operand, alpha, gamma, inner float64) *op.Operand {
	left := gamma * alpha * inner
	curve := n.plus(n.times(at, inner), left)
	if gamma < 0 || left < 0 {
		curve = n.times(n.exp(n.times(at, inner)), left)
	}
	return n.where(n.greater(at, n.num(dy, 0)), n.times(dy, gamma), n.mul(dy, curve))
}

// geluTanhSlope returns the derivative of x·(1+tanh(c·(x+k·x³)))/2.
func (n formula) geluTanhSlope(x *op.Operand) *op.Operand {
	sq := n.square(x)
	t := n.do(op.Plain("Tanh"), n.times(n.mul(x, n.plus(n.times(sq, geluCube), 1)), geluC))
	rise := n.mul(n.mul(x, n.rsub(1, n.square(t))), n.plus(n.times(sq, 3*geluCube), 1))
	return n.add(n.times(n.plus(t, 1), 0.5), n.times(rise, geluC/2))
}

// decomposeGrad spells the gradient operator of the row out.
func (r pointwiseOp) decomposeGrad() func(formula) error {
	f := slopesSpelled()[r.name]
	if f == nil {
		return nil
	}
	return func(n formula) error {
		n.Give(0, f(n, n.Config.(pointwiseGrad).Of, n.In[0], n.In[1:]...))
		return nil
	}
}
