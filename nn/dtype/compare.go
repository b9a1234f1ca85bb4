package dtype

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"
)

// Tolerance is the largest difference allowed between two numbers: |got − want| ≤ Atol + Rtol·|want|.
type Tolerance struct{ Rtol, Atol float64 }

// DefaultTolerance is the tolerance of ONNX's own test runner.
var DefaultTolerance = Tolerance{Rtol: 1e-3, Atol: 1e-7}

// Compare returns an error unless got has the type and shape of want and is close to it: every number within the
// tolerance, NaN equal to NaN, strings equal, sequences item by item. maxAbs is the largest difference of two finite
// numbers; it is also set if there is an error.
func (t Tolerance) Compare(got, want Value) (maxAbs float64, err error) {
	switch w := want.(type) {
	case *tensor.Dense:
		g, ok := got.(*tensor.Dense)
		if !ok {
			return 0, fmt.Errorf("want %s, got %s", Describe(want), Describe(got))
		}
		if err := SameType(g, w); err != nil {
			return 0, err
		}
		return t.dense(g, w)
	case *Strings:
		g, ok := got.(*Strings)
		if !ok || !slices.Equal(g.Dims, w.Dims) {
			return 0, fmt.Errorf("want %s, got %s", Describe(want), Describe(got))
		}
		for i := range w.Elems {
			if g.Elems[i] != w.Elems[i] {
				return 0, fmt.Errorf("element %d: want %q, got %q", i, w.Elems[i], g.Elems[i])
			}
		}
		return 0, nil
	case *Sequence:
		g, ok := got.(*Sequence)
		if !ok || len(g.Items) != len(w.Items) {
			return 0, fmt.Errorf("want %s, got %s", Describe(want), Describe(got))
		}
		for i := range w.Items {
			d, err := t.Compare(g.Items[i], w.Items[i])
			maxAbs = max(maxAbs, d)
			if err != nil {
				return maxAbs, fmt.Errorf("item %d: %w", i, err)
			}
		}
		return maxAbs, nil
	case *Map:
		g, ok := got.(*Map)
		if !ok {
			return 0, fmt.Errorf("want %s, got %s", Describe(want), Describe(got))
		}
		if _, err := (Tolerance{}).Compare(g.Keys, w.Keys); err != nil {
			return 0, fmt.Errorf("keys: %w", err)
		}
		return t.Compare(g.Values, w.Values)
	case *Optional:
		if g, ok := got.(*Optional); ok {
			got = g.Item
		}
		if w.Item == nil {
			if got != nil {
				return 0, fmt.Errorf("want nothing, got %s", Describe(got))
			}
			return 0, nil
		}
		if got == nil {
			return 0, fmt.Errorf("want %s, got nothing", Describe(w.Item))
		}
		return t.Compare(got, w.Item)
	}
	return 0, fmt.Errorf("cannot compare with a %T", want)
}

// Describe returns the type and shape of a value as text.
func Describe(v Value) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case *Sequence:
		return fmt.Sprintf("a sequence of %d", len(v.Items))
	case *Map:
		return fmt.Sprintf("a map of %d", v.Keys.Size())
	case *Optional:
		return fmt.Sprintf("optional %s", Describe(v.Item))
	}
	return fmt.Sprintf("%v%v", DTypeOf(v), []int(v.Shape()))
}

// SameType returns an error if the element types or shapes of two values differ.
func SameType(got, want Value) error {
	if got == nil && want == nil {
		return nil
	}
	if got == nil || want == nil || DTypeOf(got) != DTypeOf(want) || !slices.Equal(got.Shape(), want.Shape()) {
		return fmt.Errorf("want %s, got %s", Describe(want), Describe(got))
	}
	return nil
}

func (t Tolerance) dense(got, want *tensor.Dense) (maxAbs float64, err error) {
	g, w, err := numbers(got, want)
	if err != nil {
		return 0, err
	}
	bad, at := 0, 0
	for i := range w {
		d, ok := t.close(g[i], w[i])
		if !ok {
			if bad == 0 {
				at = i
			}
			bad++
		}
		if !math.IsNaN(d) && !math.IsInf(d, 0) {
			maxAbs = max(maxAbs, d)
		}
	}
	if bad > 0 {
		err = fmt.Errorf("%d of %d elements differ: element %d: want %g, got %g", bad, len(w), at, w[at], g[at])
	}
	return maxAbs, err
}

func (t Tolerance) close(g, w float64) (d float64, ok bool) {
	if g == w || math.IsNaN(g) && math.IsNaN(w) {
		return 0, true
	}
	d = math.Abs(g - w)
	return d, d <= t.Atol+t.Rtol*math.Abs(w) && !math.IsInf(w, 0)
}

// numbers returns the elements of both tensors, complex ones as pairs.
func numbers(got, want *tensor.Dense) (g, w []float64, err error) {
	if DTypeOf(want).IsComplex() {
		return pairs(got), pairs(want), nil
	}
	g, err = Float64s(got)
	if err == nil {
		w, err = Float64s(want)
	}
	if err == nil && len(g) != len(w) {
		err = errors.New("numbers of elements differ")
	}
	return g, w, err
}

func pairs(d *tensor.Dense) []float64 {
	var out []float64
	if Of(d.Dtype()) == Complex64 {
		for _, c := range Slice[complex64](d) {
			out = append(out, float64(real(c)), float64(imag(c)))
		}
		return out
	}
	for _, c := range Slice[complex128](d) {
		out = append(out, real(c), imag(c))
	}
	return out
}
