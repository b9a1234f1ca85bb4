package optim

import (
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/budget"
	"gorgonia.org/tensor"
)

// float are the element types of the kernels.
type float interface{ float32 | float64 }

// elems returns the elements of t, whose type has been checked to be F.
func elems[F float](t *tensor.Dense) []F {
	var out []F
	switch p := any(&out).(type) {
	case *[]float32:
		*p = t.Float32s()
	case *[]float64:
		*p = t.Float64s()
	}
	return out
}

// resolver converts the fields of a rule to numbers: defaults filled in, Off
// replaced by zero, ranges checked. It keeps the first error.
type resolver struct {
	rule string
	err  error
}

// value resolves one field; the result must be in [0, below).
func (r *resolver) value(name string, v, def, below float64) float64 {
	switch {
	case v == 0:
		v = def
	case v == Off:
		v = 0
	}
	if r.err == nil && !(v >= 0 && v < below) { // also catches NaN
		r.err = fmt.Errorf("optim: %s: %s is %v, want a number in [0, %v) or Off", r.rule, name, v, below)
	}
	return v
}

var inf = math.Inf(1)

// usable reports whether t can be worked on in place as a flat slice.
func usable(rule, what string, t *tensor.Dense) error {
	switch {
	case t == nil:
		return fmt.Errorf("optim: %s: %s is nil", rule, what)
	case t.Dtype() != tensor.Float32 && t.Dtype() != tensor.Float64:
		return fmt.Errorf("optim: %s: %s has element type %v, want float32 or float64", rule, what, t.Dtype())
	case t.Shape().TotalSize() != 0 && (t.RequiresIterator() || t.DataOrder().IsColMajor()):
		return fmt.Errorf("optim: %s: %s is not contiguous in row-major order", rule, what)
	}
	return nil
}

// fresh makes the slots of the given names, each of w's shape and type and following all its axes.
func fresh(rule string, w *tensor.Dense, names ...string) ([]Slot, error) {
	if err := usable(rule, "weight", w); err != nil {
		return nil, err
	}
	var s []Slot
	for _, name := range names {
		slot, err := zeros(name, w)
		if err != nil {
			return nil, err
		}
		s = append(s, slot)
	}
	return s, nil
}

// ready checks the arguments of Step: the weight, its gradient, h, and slots as fresh makes them.
func ready(rule string, w, grad *tensor.Dense, h Hyper, s []Slot, names ...string) error {
	if err := sound(rule, w, grad, h); err != nil {
		return err
	}
	if err := count(rule, s, len(names)); err != nil {
		return err
	}
	for i, name := range names {
		if err := like(rule, s, i, name, w); err != nil {
			return err
		}
	}
	return nil
}

// sound checks the weight, its gradient and h.
func sound(rule string, w, grad *tensor.Dense, h Hyper) error {
	if err := usable(rule, "weight", w); err != nil {
		return err
	}
	if err := matches(rule, "gradient", grad, w); err != nil {
		return err
	}
	if h.Step < 0 {
		return fmt.Errorf("optim: %s: step is %d, want 0 or more", rule, h.Step)
	}
	if !(h.Rate >= 0 && h.Rate < inf) {
		return fmt.Errorf("optim: %s: rate is %v, want a finite number, 0 or more", rule, h.Rate)
	}
	return nil
}

// matches checks that t is usable and has exactly w's shape and element type.
// (tensor's own Shape.Eq takes (4) and (4,1) for equal.)
func matches(rule, what string, t, w *tensor.Dense) error {
	if err := usable(rule, what, t); err != nil {
		return err
	}
	if t.Dtype() != w.Dtype() {
		return fmt.Errorf("optim: %s: %s has element type %v, want the weight's %v", rule, what, t.Dtype(), w.Dtype())
	}
	if !slices.Equal(t.Shape(), w.Shape()) {
		return fmt.Errorf("optim: %s: %s has shape %v, want the weight's %v", rule, what, t.Shape(), w.Shape())
	}
	return nil
}

// count checks the number of slots.
func count(rule string, s []Slot, want int) error {
	if len(s) != want {
		return fmt.Errorf("optim: %s: %d slots, want %d", rule, len(s), want)
	}
	return nil
}

// like checks that slot i is called name and has exactly w's shape and type.
func like(rule string, s []Slot, i int, name string, w *tensor.Dense) error {
	if s[i].Name != name {
		return fmt.Errorf("optim: %s: slot %d is %q, want %q", rule, i, s[i].Name, name)
	}
	return matches(rule, name, s[i].Data, w)
}

// zeros makes a slot of w's shape and type, every axis following w's.
func zeros(name string, w *tensor.Dense) (Slot, error) {
	axes := make([]int, w.Dims())
	for i := range axes {
		axes[i] = i
	}
	return slot(name, w, w.Shape(), axes)
}

// slot makes a slot of zeros of w's element type, charged to the memory budget.
func slot(name string, w *tensor.Dense, shape tensor.Shape, axes []int) (Slot, error) {
	n := 1
	for _, d := range shape {
		n *= d
	}
	d, err := budget.Made(int64(n)*int64(w.Dtype().Size()), func() *tensor.Dense {
		if w.Dtype() == tensor.Float32 {
			return tensor.New(tensor.WithShape(slices.Clone(shape)...), tensor.WithBacking(make([]float32, n)))
		}
		return tensor.New(tensor.WithShape(slices.Clone(shape)...), tensor.WithBacking(make([]float64, n)))
	})
	if err != nil {
		return Slot{}, fmt.Errorf("optim: the state %s of a weight of shape %v: %w", name, w.Shape(), err)
	}
	return Slot{Name: name, Data: d, Axes: axes}, nil
}
