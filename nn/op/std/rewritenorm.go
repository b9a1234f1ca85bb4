package std

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// normRules are normalizations over the last axes: (x − mean)/√(variance + ε), and without the mean.
func normRules() []op.Rewrite {
	x := op.Anything("x")
	centred := func(mean string) op.Term { return on("Sub", x, on("ReduceMean", x).As(mean)) }
	d, d2 := centred("mean").As("d"), centred("mean again")
	variance := on("ReduceMean", op.Either(
		on("Pow", d2, op.Num(2)), on("Mul", op.Anything("d"), op.Anything("d")), on("Mul", d2, d2),
	)).As("square")
	layer := overRoot(d, variance)
	squares := on("ReduceMean", op.Either(on("Pow", x, op.Num(2)), on("Mul", x, x))).As("square")
	rms := overRoot(x, squares)
	scaled := func(n op.Term) op.Term { return on("Mul", n, op.Anything("scale")) }
	return []op.Rewrite{
		{Name: "layer normalization", Pattern: op.Either(on("Add", scaled(layer), op.Anything("bias")), scaled(layer), layer), Build: func(m op.Match) *op.Replacement {
			axis, ok := meansOver(m, "x", "mean", "mean again", "square")
			if !ok {
				return nil
			}
			f := normOf(m, LayerNormalizationConfig{Axis: &axis, Epsilon: epsilonOf(m), StashType: dtype.Float32}, axis)
			if b := m.Value("bias"); b.Present() && f != nil {
				f.In = append(f.In, b)
			}
			return f
		}},
		{Name: "root mean square normalization", Pattern: op.Either(scaled(rms), rms), Build: func(m op.Match) *op.Replacement {
			axis, ok := meansOver(m, "x", "square")
			if !ok {
				return nil
			}
			return normOf(m, RMSNormalizationConfig{Axis: &axis, Epsilon: epsilonOf(m), StashType: dtype.Float32}, axis)
		}},
	}
}

// overRoot is x/√(variance + ε).
func overRoot(x, variance op.Term) op.Term {
	sum := on("Add", variance, op.AnyNumber("eps"))
	root := op.Either(on("Sqrt", sum), on("Pow", sum, op.Num(0.5)))
	return op.Either(
		on("Div", x, root),
		on("Mul", x, op.Either(on("Reciprocal", root), on("Div", op.Num(1), root), on("Pow", sum, op.Num(-0.5)))),
	)
}

// normOf returns a normalization with the scale of the match, or with ones.
func normOf(m op.Match, c op.Config, axis int) *op.Replacement {
	f := &op.Replacement{Config: c, In: sources(m, "x")}
	if s := m.Value("scale"); s.Present() {
		f.In = append(f.In, s)
		return f
	}
	t := m.Value("x").Type
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
	f.In = append(f.In, op.Constant(v))
	return f
}

// meansOver returns the first of the last axes over which all of the named means are computed; means that are not
// part of this match are ignored.
func meansOver(m op.Match, of string, means ...string) (axis int, ok bool) {
	in := m.Value(of).Type.Sizes()
	axis = -1
	for _, name := range means {
		if !m.Value(name).Present() {
			continue
		}
		a, ok := reducedFrom(in, m.Value(name).Type.Sizes())
		if !ok || axis >= 0 && a != axis {
			return 0, false
		}
		axis = a
	}
	return axis, axis >= 0
}

// reducedFrom returns the axis from which on all axes of in are gone in out. Shapes say enough: a mean
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
