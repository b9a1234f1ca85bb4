package nn

import (
	"slices"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// rules are the groups that are run as one operator. Of several that end in one node the first
// that fits counts; a larger group wins over those inside of it.
func rules() []rule {
	return slices.Concat(normRules(), activationRules(), dynamicRules(), []rule{attentionRule(), linearRule(), reorderRule(), crossEntropyRule(), quantizeRule()})
}

// activationRules are functions of one value, of which the pattern says everything but numbers.
func activationRules() []rule {
	plain := func(c op.Config) func(*matching) *fused {
		return func(m *matching) *fused { return &fused{c, values(m.named["x"])} }
	}
	return []rule{
		{"gelu", geluPattern(), plain(std.GeluConfig{})},
		{"gelu by tanh", geluTanhPattern(), plain(std.GeluConfig{Approximate: "tanh"})},
		{"swish", swishPattern(), func(m *matching) *fused {
			cfg := std.SwishConfig{}
			if a, ok := m.nums["alpha"]; ok {
				alpha := float32(a)
				cfg.Alpha = &alpha
			}
			return &fused{cfg, values(m.named["x"])}
		}},
		{"hard swish", hardSwishPattern(), hardSwish},
		{"mish", mishPattern(), plain(op.Plain("Mish"))},
	}
}

// geluPattern is x·(1 + erf(x/√2))/2.
func geluPattern() term {
	x := anything("x")
	return triple(x, num(0.5), on("Add", on("Erf", timesOrOver(x, 0.7071067811865476)), num(1)))
}

// geluTanhPattern is x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2; some write x·(1 + 0.044715·x²).
func geluTanhPattern() term {
	const c, cube = 0.7978845608028654, 0.044715
	x := anything("x")
	square := either(on("Pow", x, num(2)), on("Mul", x, x))
	third := either(on("Pow", x, num(3)), on("Mul", square, x))
	inner := either(
		on("Mul", on("Add", x, on("Mul", third, num(cube))), num(c)),
		triple(x, num(c), on("Add", either(on("Mul", square, num(cube)), on("Mul", on("Mul", x, num(cube)), x)), num(1))),
	)
	return triple(x, num(0.5), on("Add", on("Tanh", inner), num(1)))
}

// swishPattern is x·sigmoid(alpha·x).
func swishPattern() term {
	x := anything("x")
	return on("Mul", x, on("Sigmoid", either(x, on("Mul", x, scalar("alpha")))))
}

// hardSwishPattern is x·clamp(x/6 + 1/2) or x·clamp(x + 3 to 6)/6.
func hardSwishPattern() term {
	x := anything("x")
	six := on("Clip", on("Add", x, num(3))).as("gate")
	return either(
		on("Mul", x, on("HardSigmoid", x).as("gate")),
		on("Div", on("Mul", x, six), num(6)),
		on("Mul", x, on("Div", six, num(6))),
		triple(x, six, num(1./6)),
	)
}

func hardSwish(m *matching) *fused {
	f := &fused{op.Plain("HardSwish"), values(m.named["x"])}
	gate := m.named["gate"].producer
	switch c := gate.config.(type) {
	case std.HardSigmoidConfig:
		t := m.typ("x").DType
		if c.Alpha == nil || !near(float64(*c.Alpha), 1./6, t) || c.Beta != nil && *c.Beta != 0.5 {
			return nil
		}
	case std.ClipConfig:
		bounds := []float64{0, 6}
		for i, at := range []*float32{c.Min, c.Max} {
			if at != nil {
				if float64(*at) != bounds[i] {
					return nil
				}
				continue
			}
			if len(gate.in) < i+2 || gate.in[i+1] == nil {
				return nil
			}
			if x, ok := m.known(gate.in[i+1]); !ok || x != bounds[i] {
				return nil
			}
		}
	}
	return f
}

// mishPattern is x·tanh(ln(1 + e^x)).
func mishPattern() term {
	x := anything("x")
	return on("Mul", x, on("Tanh", either(on("Softplus", x), on("Log", on("Add", on("Exp", x), num(1))))))
}

// linearRule is a product with a matrix, which may be stored the other way round, and a bias.
func linearRule() rule {
	turned := on("Transpose", anything("w")).as("turned")
	times := func(w term) term { return on("MatMul", anything("x"), w).as("y") }
	return rule{"linear", either(
		on("Add", times(turned), anything("b")),
		on("Add", times(anything("w")), anything("b")),
		times(turned),
	), func(m *matching) *fused {
		x, w := m.typ("x"), m.typ("w")
		if x.Rank() < 2 || w.Rank() != 2 || !x.DType.IsFloat() {
			return nil
		}
		cfg := std.LinearConfig{}
		if m.named["turned"] != nil {
			if cfg.TransB = true; !m.turns("turned", 1, 0) {
				return nil
			}
		}
		in := values(m.named["x"], m.named["w"])
		if b := m.named["b"]; b != nil {
			// A bias is one number for each column; anything else is another operand of a sum.
			shape, y := m.typ("b").Sizes(), m.typ("y").Sizes()
			if len(shape) == 0 || shape[len(shape)-1] != y[len(y)-1] || m.typ("b").Elements() != y[len(y)-1] || len(shape) > len(y) {
				return nil
			}
			in = append(in, operand{value: b})
		}
		return &fused{cfg, in}
	}}
}

// turns says whether the node that computes a named value permutes axes like this.
func (m *matching) turns(name string, perm ...int) bool {
	c, ok := m.config(name).(std.TransposeConfig)
	if !ok {
		return false
	}
	if c.Perm == nil && len(perm) == 2 {
		return perm[0] == 1
	}
	return slices.Equal(c.Perm, perm)
}
