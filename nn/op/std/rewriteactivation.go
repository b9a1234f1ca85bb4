package std

import "github.com/graft-ml/graft/nn/op"

// activationRules are functions of one value that the pattern determines, except for numbers.
func activationRules() []op.Rewrite {
	plain := func(c op.Config) func(op.Match) *op.Replacement {
		return func(m op.Match) *op.Replacement { return &op.Replacement{Config: c, In: sources(m, "x")} }
	}
	return []op.Rewrite{
		{Name: "gelu", Pattern: geluPattern(), Build: plain(GeluConfig{})},
		{Name: "gelu by tanh", Pattern: geluTanhPattern(), Build: plain(GeluConfig{Approximate: "tanh"})},
		{Name: "swish", Pattern: swishPattern(), Build: func(m op.Match) *op.Replacement {
			cfg := SwishConfig{}
			if a, ok := m.Number("alpha"); ok {
				alpha := float32(a)
				cfg.Alpha = &alpha
			}
			return &op.Replacement{Config: cfg, In: sources(m, "x")}
		}},
		{Name: "hard swish", Pattern: hardSwishPattern(), Build: hardSwishOf},
		{Name: "mish", Pattern: mishPattern(), Build: plain(op.Plain("Mish"))},
	}
}

// geluPattern is x·(1 + erf(x/√2))/2.
func geluPattern() op.Term {
	x := op.Anything("x")
	return triple(x, op.Num(0.5), on("Add", on("Erf", timesOrOver(x, 0.7071067811865476)), op.Num(1)))
}

// geluTanhPattern is x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2; some write x·(1 + 0.044715·x²).
func geluTanhPattern() op.Term {
	const c, cube = 0.7978845608028654, 0.044715
	x := op.Anything("x")
	square := op.Either(on("Pow", x, op.Num(2)), on("Mul", x, x))
	third := op.Either(on("Pow", x, op.Num(3)), on("Mul", square, x))
	inner := op.Either(
		on("Mul", on("Add", x, on("Mul", third, op.Num(cube))), op.Num(c)),
		triple(x, op.Num(c), on("Add", op.Either(on("Mul", square, op.Num(cube)), on("Mul", on("Mul", x, op.Num(cube)), x)), op.Num(1))),
	)
	return triple(x, op.Num(0.5), on("Add", on("Tanh", inner), op.Num(1)))
}

// swishPattern is x·sigmoid(alpha·x).
func swishPattern() op.Term {
	x := op.Anything("x")
	return on("Mul", x, on("Sigmoid", op.Either(x, on("Mul", x, op.AnyNumber("alpha")))))
}

// hardSwishPattern is x·clamp(x/6 + 1/2) or x·clamp(x + 3 to 6)/6.
func hardSwishPattern() op.Term {
	x := op.Anything("x")
	six := on("Clip", on("Add", x, op.Num(3))).As("gate")
	return op.Either(
		on("Mul", x, on("HardSigmoid", x).As("gate")),
		on("Div", on("Mul", x, six), op.Num(6)),
		on("Mul", x, on("Div", six, op.Num(6))),
		triple(x, six, op.Num(1./6)),
	)
}

func hardSwishOf(m op.Match) *op.Replacement {
	f := &op.Replacement{Config: op.Plain("HardSwish"), In: sources(m, "x")}
	switch c := configOf(m, "gate").(type) {
	case HardSigmoidConfig:
		t := m.Value("x").Type.DType
		if c.Alpha == nil || !op.Near(float64(*c.Alpha), 1./6, t) || c.Beta != nil && *c.Beta != 0.5 {
			return nil
		}
	case ClipConfig:
		bounds := []float64{0, 6}
		for i, at := range []*float32{c.Min, c.Max} {
			if at != nil {
				if float64(*at) != bounds[i] {
					return nil
				}
				continue
			}
			if x, ok := m.Input(m.Value("gate"), i+1).Number(); !ok || x != bounds[i] {
				return nil
			}
		}
	default: // a copy of the named operator
		return nil
	}
	return f
}

// mishPattern is x·tanh(ln(1 + e^x)).
func mishPattern() op.Term {
	x := op.Anything("x")
	return on("Mul", x, on("Tanh", op.Either(on("Softplus", x), on("Log", on("Add", on("Exp", x), op.Num(1))))))
}

// triple returns a·b·c however it is bracketed.
func triple(a, b, c op.Term) op.Term {
	return op.Either(on("Mul", on("Mul", a, b), c), on("Mul", on("Mul", a, c), b), on("Mul", on("Mul", b, c), a))
}

// timesOrOver is x·k, or x/(1/k).
func timesOrOver(x op.Term, k float64) op.Term {
	return op.Either(on("Mul", x, op.Num(k)), on("Div", x, op.Num(1/k)))
}
