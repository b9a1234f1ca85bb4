package optest

import (
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Compare returns an error if two values differ in type, shape or an element. Floating-point numbers may differ by tol·(1
// + |want|), those of float16 and bfloat16 at least by the resolution of the type. NaN equals NaN.
func Compare(got, want dtype.Value, tol float64) error {
	switch w := want.(type) {
	case *dtype.Strings:
		g, ok := got.(*dtype.Strings)
		if !ok || !slices.Equal(g.Dims, w.Dims) || !slices.Equal(g.Elems, w.Elems) {
			return fmt.Errorf("got %v, want %v", got, want)
		}
		return nil
	case *dtype.Sequence:
		g, ok := got.(*dtype.Sequence)
		if !ok || len(g.Items) != len(w.Items) {
			return fmt.Errorf("got %v, want %v", got, want)
		}
		for i := range w.Items {
			if err := Compare(g.Items[i], w.Items[i], tol); err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		}
		return nil
	case *dtype.Map:
		g, ok := got.(*dtype.Map)
		if !ok {
			return fmt.Errorf("got %v, want %v", got, want)
		}
		if err := Compare(g.Keys, w.Keys, 0); err != nil {
			return fmt.Errorf("keys: %w", err)
		}
		return Compare(g.Values, w.Values, tol)
	case *dtype.Optional:
		g, ok := got.(*dtype.Optional)
		if !ok || (g.Item == nil) != (w.Item == nil) {
			return fmt.Errorf("got %v, want %v", got, want)
		}
		if w.Item == nil {
			return nil
		}
		return Compare(g.Item, w.Item, tol)
	case *tensor.Dense:
		g, ok := got.(*tensor.Dense)
		if !ok {
			return fmt.Errorf("got %T, want %T", got, want)
		}
		if dtype.DTypeOf(g) != dtype.DTypeOf(w) {
			return fmt.Errorf("got elements of %v, want %v", dtype.DTypeOf(g), dtype.DTypeOf(w))
		}
		if !slices.Equal(g.Shape(), w.Shape()) {
			return fmt.Errorf("got shape %v, want %v", g.Shape(), w.Shape())
		}
		return compareElements(g, w, tol)
	}
	return fmt.Errorf("cannot compare %T", want)
}

func compareElements(got, want *tensor.Dense, tol float64) error {
	t := dtype.DTypeOf(want)
	if t.IsComplex() {
		return compareComplex(got, want, tol)
	}
	if !t.IsFloat() {
		g, w := dtype.Bytes(got), dtype.Bytes(want)
		for i := range w {
			if g[i] != w[i] {
				a, _ := dtype.Int64s(got)
				b, _ := dtype.Int64s(want)
				k := i / t.Size()
				return fmt.Errorf("element %d is %d, want %d", k, a[k], b[k])
			}
		}
		return nil
	}
	switch t {
	case dtype.Float16:
		tol = max(tol, 2e-3)
	case dtype.BFloat16:
		tol = max(tol, 2e-2)
	}
	g, err := dtype.Float64s(got)
	if err != nil {
		return err
	}
	w, err := dtype.Float64s(want)
	if err != nil {
		return err
	}
	return compareFloats(g, w, tol)
}

func compareFloats(g, w []float64, tol float64) error {
	worst, at := 0.0, -1
	for i := range w {
		switch {
		case g[i] == w[i] || g[i] != g[i] && w[i] != w[i]:
			continue
		case g[i] != g[i] || w[i] != w[i] || math.IsInf(g[i], 0) || math.IsInf(w[i], 0):
			return fmt.Errorf("element %d is %v, want %v", i, g[i], w[i])
		}
		if d := math.Abs(g[i]-w[i]) / (1 + math.Abs(w[i])); d > worst {
			worst, at = d, i
		}
	}
	if worst > tol {
		return fmt.Errorf("element %d is %v, want %v (off by %.3g, tolerance %.3g)", at, g[at], w[at], worst, tol)
	}
	return nil
}

func compareComplex(got, want *tensor.Dense, tol float64) error {
	var g, w []float64
	for _, p := range []struct {
		d *tensor.Dense
		v *[]float64
	}{{got, &g}, {want, &w}} {
		c := dtype.New(dtype.Complex128, p.d.Shape()...)
		if err := dtype.Convert(c, p.d); err != nil {
			return err
		}
		for _, z := range dtype.Slice[complex128](c) {
			*p.v = append(*p.v, real(z), imag(z))
		}
	}
	return compareFloats(g, w, tol)
}
