package nn

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// normRules are normalizations over the last axes: (x − mean)/√(variance + ε), and without the mean.
func normRules() []rule {
	x := anything("x")
	centred := func(mean string) term { return on("Sub", x, on("ReduceMean", x).as(mean)) }
	d, d2 := centred("mean").as("d"), centred("mean again")
	variance := on("ReduceMean", either(
		on("Pow", d2, num(2)), on("Mul", anything("d"), anything("d")), on("Mul", d2, d2),
	)).as("square")
	layer := overRoot(d, variance)
	squares := on("ReduceMean", either(on("Pow", x, num(2)), on("Mul", x, x))).as("square")
	rms := overRoot(x, squares)
	scaled := func(n term) term { return on("Mul", n, anything("scale")) }
	return []rule{
		{"layer normalization", either(on("Add", scaled(layer), anything("bias")), scaled(layer), layer), func(m *matching) *fused {
			axis, ok := m.lastAxes("x", "mean", "mean again", "square")
			if !ok {
				return nil
			}
			f := m.norm(std.LayerNormalizationConfig{Axis: &axis, Epsilon: m.epsilon(), StashType: dtype.Float32}, axis)
			if b := m.named["bias"]; b != nil && f != nil {
				f.in = append(f.in, operand{value: b})
			}
			return f
		}},
		{"root mean square normalization", either(scaled(rms), rms), func(m *matching) *fused {
			axis, ok := m.lastAxes("x", "square")
			if !ok {
				return nil
			}
			return m.norm(std.RMSNormalizationConfig{Axis: &axis, Epsilon: m.epsilon(), StashType: dtype.Float32}, axis)
		}},
	}
}

// overRoot is x/√(variance + ε).
func overRoot(x, variance term) term {
	sum := on("Add", variance, scalar("eps"))
	root := either(on("Sqrt", sum), on("Pow", sum, num(0.5)))
	return either(
		on("Div", x, root),
		on("Mul", x, either(on("Reciprocal", root), on("Div", num(1), root), on("Pow", sum, num(-0.5)))),
	)
}

// norm is a normalization with the scale of the match, or with ones.
func (m *matching) norm(c op.Config, axis int) *fused {
	f := &fused{c, values(m.named["x"])}
	if s := m.named["scale"]; s != nil {
		f.in = append(f.in, operand{value: s})
		return f
	}
	t := m.typ("x")
	shape := t.Sizes()[axis:]
	n := 1
	for _, k := range shape {
		n *= k
	}
	ones := make([]float64, n)
	for i := range ones {
		ones[i] = 1
	}
	v, err := dtype.FromFloats(t.DType, ones, shape...)
	if err != nil {
		return nil
	}
	f.in = append(f.in, operand{constant: v})
	return f
}

// lastAxes is the first of the last axes that all of the named means run over; those that have no
// part in this match are left out.
func (m *matching) lastAxes(of string, means ...string) (axis int, ok bool) {
	in := m.typ(of).Sizes()
	axis = -1
	for _, name := range means {
		if m.named[name] == nil {
			continue
		}
		a, ok := reducedFrom(in, m.typ(name).Sizes())
		if !ok || axis >= 0 && a != axis {
			return 0, false
		}
		axis = a
	}
	return axis, axis >= 0
}

// reducedFrom is the axis from which on all axes of in are gone in out. Shapes say enough: a mean
// over an axis of length 1 changes nothing.
func reducedFrom(in, out []int) (int, bool) {
	if len(out) != len(in) {
		return 0, false
	}
	a := len(in)
	for a > 0 && out[a-1] == 1 {
		a--
	}
	for a < len(in) && in[a] == 1 {
		a++
	}
	return a, a < len(in) && slices.Equal(in[:a], out[:a])
}

// epsilon is the number that the match calls eps.
func (m *matching) epsilon() *float32 { eps := float32(m.nums["eps"]); return &eps }
