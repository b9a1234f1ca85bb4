package epilogue

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// Step is a pattern that describes what a call does to the result of another kernel, so that this kernel can do it itself
// while the result is still in a cache.
type Step struct {
	Kind     StepKind // the kind of the step
	Slots    []int    // the inputs that can be the operand
	DType    op.DType // of the operand, Float32 or Float64
	Channels int      // the length of the operand's axis 1; 0: it has none
	Epsilon  float64  // of Normalize
	Func     Func     // of Activate and Slope
}

// PatternName is "epilogue".
func (*Step) PatternName() string { return "epilogue" }

// StepKind is the kind of a Step. A kernel applies them in the order of the constants; the first three may come in any order.
type StepKind uint8

// The kinds of steps. x is the operand and c its channel; in1 … in4 are the other inputs of the call.
const (
	Normalize StepKind = iota // (x−in3[c])/√(in4[c]+Epsilon)·in1[c] + in2[c]
	Scale                     // x times the other operand, one number for each channel
	Shift                     // x plus the other operand, one number for each channel
	Add                       // x plus the other operand, of the same shape
	Activate                  // f(x) for each element, with Step.Func as f; inputs 1 and 2, where present, are the bounds of a Clip
	Slope                     // x times the derivative of Step.Func at the elements of input 1
	View                      // x in another shape
)

// Func is an elementwise function that kernels can apply to their results. The zero Func is none.
type Func = elementwise.Activation

// functions are the kinds of a Func by name.
var functions = map[string]elementwise.ActivationKind{
	"Relu": elementwise.ActRelu, "LeakyRelu": elementwise.ActLeakyRelu, "Elu": elementwise.ActElu, "Selu": elementwise.ActSelu,
	"Clip": elementwise.ActClip, "Tanh": elementwise.ActTanh, "Sigmoid": elementwise.ActSigmoid, "HardSigmoid": elementwise.ActHardSigmoid,
	"HardSwish": elementwise.ActHardSwish, "Silu": elementwise.ActSilu, "Softplus": elementwise.ActSoftplus,
	"Softsign": elementwise.ActSoftsign, "Gelu": elementwise.ActGelu, "GeluTanh": elementwise.ActGeluTanh,
}

// Function returns the function with the given name, which is an error if there is none. alpha and beta have no defaults:
// zero means zero.
//
//	Relu         max(0, x)
//	LeakyRelu    x, or alpha·x below 0; alpha is positive
//	Elu          x, or alpha·(eˣ−1) below 0
//	Selu         beta times x, or beta·alpha·(eˣ−1) below 0
//	Clip         x between alpha and beta
//	Tanh         tanh x
//	Sigmoid      1/(1+e⁻ˣ)
//	HardSigmoid  alpha·x + beta between 0 and 1
//	HardSwish    x times x/6 + ½ between 0 and 1
//	Silu         x/(1+e⁻ˣ)
//	Softplus     log(1+eˣ)
//	Softsign     x/(1+|x|)
//	Gelu         x·(1+erf(x/√2))/2
//	GeluTanh     Gelu approximated by tanh
//
// A kernel can also multiply by the derivative of Gelu and GeluTanh, see Slope.
func Function(name string, alpha, beta float64) (Func, error) {
	kind, ok := functions[name]
	if !ok {
		return Func{}, fmt.Errorf("epilogue: there is no function %q: want one of %s", name, strings.Join(slices.Sorted(maps.Keys(functions)), ", "))
	}
	return Func{Kind: kind, Alpha: alpha, Beta: beta}, nil
}

// List holds the steps that a kernel has taken over, in order.
type List struct {
	Affine bool   // channels can still be scaled and shifted
	slopes bool   // the kernel can multiply by derivatives
	Parts  []part // in the order in which they are applied
}

// part is one epilogue of a list.
type part struct {
	*Step
	in []int // where the kernel finds the inputs of the part; -1: the operand
}

// Host is a pattern that describes a kernel which can apply steps to output 0 of its call.
type Host struct {
	DType    op.DType // of output 0; only Float32 and Float64 take steps, since narrower types round after each operation
	Channels int      // the length of axis 1 of output 0, which is the axis of the channels
	Affine   bool     // the kernel can scale and shift each channel
	Slopes   bool     // the kernel can multiply by the derivative of a function
	SumOnly  bool     // the kernel can add one tensor and do nothing else
	// Kernel returns the kernel that also applies e. Its inputs are those of the call, followed by those of the steps.
	Kernel func(e List) op.Kernel
	// InPlace lists the inputs whose memory the result may take over. nil: none.
	InPlace func(e List) []int
	// Rematerialize returns how the result of that kernel can be computed a second time. nil: it cannot.
	Rematerialize func(e List) *op.Rematerialization

	taken *List // so far
}

// PatternName is "epilogue host".
func (*Host) PatternName() string { return "epilogue host" }

// Fusions returns the rules by which a Host takes over the steps that follow it.
func Fusions() []op.Fusion { return FusionsOf(fuse) }

// FusionsOf returns the rules that fuse a call of pattern P with a step that follows it: a call with this pattern, a sum
// that is one of Gorgonia's own operators, or a call that only changes the shape of its input. fuse returns nil if it
// cannot fuse the two.
func FusionsOf[P op.Pattern](fuse func(first P, e *Step, m op.Meeting) *op.Fused) []op.Fusion {
	return []op.Fusion{
		op.NewFusion(fuse),
		op.NewFusion(func(first P, a engine.Addition, m op.Meeting) *op.Fused {
			return fuse(first, &Step{Kind: Add, Slots: []int{0, 1}, DType: dtype.Of(a.DType)}, m)
		}),
		op.NewFusion(func(first P, r engine.Reshaping, m op.Meeting) *op.Fused {
			return fuse(first, &Step{Kind: View, Slots: []int{0}, DType: dtype.Of(r.DType)}, m)
		}),
	}
}

// fuse lets a kernel take over one more step.
func fuse(h *Host, next *Step, m op.Meeting) *op.Fused {
	e := List{Affine: h.Affine, slopes: h.Slopes}
	if h.taken != nil {
		e = *h.taken
	}
	e, ok := e.With(next, h.DType, h.Channels, m)
	if !ok || h.SumOnly && !e.Adds() {
		return nil
	}
	f := &op.Fused{Kernel: h.Kernel(e), KeepsSides: true}
	if !h.SumOnly {
		more := *h
		more.taken = &e
		f.Patterns = []op.Pattern{&more}
	}
	if h.InPlace != nil {
		f.InPlace = h.InPlace(e)
	}
	if h.Rematerialize != nil {
		f.Rematerialize = h.Rematerialize(e)
	}
	return f
}

// With returns e followed by next, which reads a result of type t with the given number of channels. It reports false if
// next cannot follow.
func (e List) With(next *Step, t op.DType, channels int, m op.Meeting) (List, bool) {
	float := t == dtype.Float32 || t == dtype.Float64
	if !float || next.DType != t || m.Sides || !slices.Contains(next.Slots, m.Slot) || !e.takes(next, channels) {
		return e, false
	}
	if next.Kind == View {
		e.Affine = false // channels are on another axis now
		return e, true
	}
	p := part{Step: next, in: make([]int, m.SecondInputs)}
	for i := range p.in { // they come after those of the first, without that of the slot
		switch {
		case i < m.Slot:
			p.in[i] = m.FirstInputs + i
		case i == m.Slot:
			p.in[i] = -1
		default:
			p.in[i] = m.FirstInputs + i - 1
		}
	}
	e.Parts = append(slices.Clip(e.Parts), p)
	return e, true
}

// Apply applies the steps to y in place. y is the result of a kernel, of shape [N, channels, space] and element type
// Float32 or Float64; in holds the kernel's inputs in this run, those of the steps included. A nil y panics.
func (e List) Apply(x *op.Exec, in []*tensor.Dense, y *tensor.Dense, channels, space int) {
	if y == nil {
		panic("epilogue: List.Apply: the tensor is nil")
	}
	if dtype.Of(y.Dtype()) == dtype.Float64 {
		apply[float64](x, e, in, y, channels, space)
		return
	}
	apply[float32](x, e, in, y, channels, space)
}

func apply[T kernel.Float](x *op.Exec, e List, in []*tensor.Dense, y *tensor.Dense, channels, space int) {
	r := Steps[T](x, e, channels, nil, in)
	r.Planes((*engine.Exec)(x).Pool(), channels, space, dtype.Elems[T](y))
}

// Adds reports whether one of the steps adds a tensor of the same shape.
func (e List) Adds() bool {
	return slices.ContainsFunc(e.Parts, func(p part) bool { return p.Kind == Add })
}

// takes reports whether t may follow.
func (e List) takes(t *Step, channels int) bool {
	if t.Kind == View {
		return true
	}
	last := Normalize
	if n := len(e.Parts); n > 0 {
		last = e.Parts[n-1].Kind
	}
	if t.Kind < Add {
		return e.Affine && last < Add && t.Channels == channels
	}
	return t.Kind > last && (t.Kind != Slope || e.slopes)
}

// inputOf is input i of part p, nil if it is the operand or absent.
func inputOf[T kernel.Float](p *part, in []*tensor.Dense, i int) []T {
	if i >= len(p.in) || p.in[i] < 0 {
		return nil
	}
	return dtype.ElemsAt[T](in, p.in[i])
}

// other returns the operand of a sum or product that the kernel does not compute.
func other[T kernel.Float](p *part, in []*tensor.Dense) []T {
	if p.in[0] < 0 {
		return inputOf[T](p, in, 1)
	}
	return inputOf[T](p, in, 0)
}

// AfterAffine returns the steps that follow scale and shift, bound to the inputs of one run.
func AfterAffine[T kernel.Float](e List, in []*tensor.Dense) (r elementwise.Epilogue[T]) {
	for i := range e.Parts {
		switch p := &e.Parts[i]; p.Kind {
		case Add:
			r.Add = other[T](p, in)
		case Activate:
			if r.Act = p.Func; r.Act.Kind == elementwise.ActClip {
				if low := inputOf[T](p, in, 1); len(low) > 0 {
					r.Act.Alpha = float64(low[0])
				}
				if high := inputOf[T](p, in, 2); len(high) > 0 {
					r.Act.Beta = float64(high[0])
				}
			}
		case Slope:
			r.Slope, r.At = p.Func, inputOf[T](p, in, 1)
		}
	}
	return r
}

// scaleShift returns the scale and shift of an epilogue for the inputs of a run; bias, one number for each
// channel or nil, comes first.
func scaleShift[T kernel.Float](x *op.Exec, e List, channels int, bias []T, in []*tensor.Dense) (scale, shift []T) {
	r := elementwise.Epilogue[T]{Shift: bias}
	for i := range e.Parts {
		if p := &e.Parts[i]; p.Kind < Add {
			foldAffine(x, p, channels, &r, in)
		}
	}
	return r.Scale, r.Shift
}

// Steps returns e bound to the inputs of one run, after adding bias: one number for each channel, or nil.
func Steps[T kernel.Float](x *op.Exec, e List, channels int, bias []T, in []*tensor.Dense) elementwise.Epilogue[T] {
	r := AfterAffine[T](e, in)
	r.Scale, r.Shift = scaleShift(x, e, channels, bias, in)
	return r
}

// AffineKey returns a cache key for the combined scale and shift: it is equal for lists that scale and shift in the same way.
func (e List) AffineKey() string {
	var key strings.Builder
	for i := range e.Parts {
		if p := &e.Parts[i]; p.Kind < Add {
			fmt.Fprint(&key, p.Kind, p.Epsilon, p.in, ";")
		}
	}
	return key.String()
}

// AffineInputs returns the given inputs of a run, followed by those that scale and shift depend on. Absent ones are left
// out.
func (e List) AffineInputs(in []*tensor.Dense, first ...int) []*tensor.Dense {
	var list []*tensor.Dense
	add := func(i int) {
		if i >= 0 && i < len(in) && in[i] != nil {
			list = append(list, in[i])
		}
	}
	for _, i := range first {
		add(i)
	}
	for i := range e.Parts {
		if p := &e.Parts[i]; p.Kind < Add {
			for _, k := range p.in {
				add(k)
			}
		}
	}
	return list
}

// foldAffine makes (y·Scale + Shift)·a + b of y·Scale + Shift, channel by channel.
func foldAffine[T kernel.Float](x *op.Exec, p *part, channels int, r *elementwise.Epilogue[T], in []*tensor.Dense) {
	buffer := engine.Scratch[T]((*engine.Exec)(x))(2 * channels)
	scale, shift := buffer[:channels], buffer[channels:]
	a, b := r.Scale, r.Shift
	var gain, bias, mean, variance []T
	switch p.Kind {
	case Normalize:
		gain, bias, mean, variance = inputOf[T](p, in, 1), inputOf[T](p, in, 2), inputOf[T](p, in, 3), inputOf[T](p, in, 4)
	case Scale:
		gain = other[T](p, in)
	case Shift:
		bias = other[T](p, in)
	}
	for i := range scale {
		g, h := T(1), T(0)
		if gain != nil {
			g = gain[i]
		}
		if variance != nil {
			g = T(1/math.Sqrt(float64(variance[i]+T(p.Epsilon)))) * g
			h = -mean[i] * g
		}
		if bias != nil {
			h += bias[i]
		}
		scale[i], shift[i] = g, h
		if a != nil {
			scale[i] = a[i] * g
		}
		if b != nil {
			shift[i] = b[i]*g + h
		}
	}
	if r.Shift = shift; p.Kind != Shift || a != nil {
		r.Scale = scale
	}
}
