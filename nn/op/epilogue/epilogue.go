package epilogue

import (
	"fmt"
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

// Pattern is a pattern: what a call does to an operand that another kernel has just computed, for kernels that
// can do it themselves while the operand is still in a cache.
type Pattern struct {
	Kind     Kind     // what is applied
	Slots    []int    // the inputs that can be the operand
	DType    op.DType // of the operand, Float32 or Float64
	Channels int      // the length of the operand's axis 1; 0: it has none
	Epsilon  float64  // of Normalize
	Func     Func     // of Activate and Slope
}

// PatternName is "epilogue".
func (*Pattern) PatternName() string { return "epilogue" }

// Kind is a kind of epilogue, in the order in which a kernel applies them; the first three may come in any
// order.
type Kind uint8

// The kinds of epilogues, with x the operand and c its channel.
const (
	Normalize Kind = iota // (x−in3[c])/√(in4[c]+Epsilon)·in1[c] + in2[c]
	Scale                 // x times the other operand, one number for each channel
	Shift                 // x plus the other operand, one number for each channel
	Add                   // x plus the other operand, of the same shape
	Activate              // a function of each element; inputs 1 and 2, where present, are the bounds of a clip
	Slope                 // x times the derivative of a function at the elements of input 1
	View                  // the elements of x in another shape
)

// Func is a function of single elements that kernels can apply to their results: its Kind, and Alpha and
// Beta where the kind has such parameters, always used as given.
type Func = elementwise.Activation

// The kinds of functions.
const (
	Relu        = elementwise.ActRelu        // max(0, x)
	LeakyRelu   = elementwise.ActLeakyRelu   // x, or Alpha·x below 0; Alpha is positive
	Elu         = elementwise.ActElu         // x, or Alpha·(eˣ−1) below 0
	Selu        = elementwise.ActSelu        // Beta times x, or Beta·Alpha·(eˣ−1) below 0
	Clip        = elementwise.ActClip        // x between Alpha and Beta
	Tanh        = elementwise.ActTanh        // tanh x
	Sigmoid     = elementwise.ActSigmoid     // 1/(1+e⁻ˣ)
	HardSigmoid = elementwise.ActHardSigmoid // Alpha·x + Beta between 0 and 1
	HardSwish   = elementwise.ActHardSwish   // x times x/6 + ½ between 0 and 1
	Silu        = elementwise.ActSilu        // x/(1+e⁻ˣ)
	Softplus    = elementwise.ActSoftplus    // log(1+eˣ)
	Softsign    = elementwise.ActSoftsign    // x/(1+|x|)
	Gelu        = elementwise.ActGelu        // x·(1+erf(x/√2))/2; it has a derivative, see Slope
	GeluTanh    = elementwise.ActGeluTanh    // its form by tanh; it has a derivative
)

// List are the epilogues that a kernel has taken up, in order.
type List struct {
	Affine bool   // channels can still be scaled and shifted
	slopes bool   // the kernel can multiply by derivatives
	Parts  []part // in the order in which they are applied
}

// part is one epilogue of a list.
type part struct {
	*Pattern
	in []int // where the kernel finds the inputs of the part; -1: the operand
}

// Host is a pattern: a call whose kernel can go on with epilogues of its output 0.
type Host struct {
	DType    op.DType // of output 0; other types than Float32 and Float64 take no epilogue, since each step is rounded
	Channels int      // the length of output 0's axis 1, whose elements epilogues scale and shift
	Affine   bool     // it can scale and shift channels
	Slopes   bool     // it can multiply by derivatives
	SumOnly  bool     // it can add one tensor, and nothing else
	// Kernel makes the kernel that applies e. Its inputs are those of the call, then those of the epilogues.
	Kernel func(e List) op.Kernel
	// InPlace gives the inputs whose memory the result may take over. nil: none.
	InPlace func(e List) []int
	// Rematerialize says how the result of that kernel is computed a second time. nil: it is not.
	Rematerialize func(e List) *op.Rematerialization

	taken *List // so far
}

// PatternName is "epilogue host".
func (*Host) PatternName() string { return "epilogue host" }

// Fusions are the rules by which a kernel that is a Host takes up epilogues.
func Fusions() []op.Fusion { return FusionsOf(fuse) }

// FusionsOf are the rules that fuse a call that has pattern P with an epilogue, be it a call with this pattern, a sum that is
// an operator of Gorgonia's, or a call that only gives its input another shape. fuse returns nil where it cannot.
func FusionsOf[P op.Pattern](fuse func(first P, e *Pattern, m op.Meeting) *op.Fused) []op.Fusion {
	return []op.Fusion{
		op.NewFusion(fuse),
		op.NewFusion(func(first P, a engine.Addition, m op.Meeting) *op.Fused {
			return fuse(first, &Pattern{Kind: Add, Slots: []int{0, 1}, DType: dtype.Of(a.DType)}, m)
		}),
		op.NewFusion(func(first P, r engine.Reshaping, m op.Meeting) *op.Fused {
			return fuse(first, &Pattern{Kind: View, Slots: []int{0}, DType: dtype.Of(r.DType)}, m)
		}),
	}
}

// fuse lets a kernel take up one epilogue more.
func fuse(h *Host, next *Pattern, m op.Meeting) *op.Fused {
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

// With is e followed by what next does to a result of type t with that many channels, if that is possible.
func (e List) With(next *Pattern, t op.DType, channels int, m op.Meeting) (List, bool) {
	float := t == dtype.Float32 || t == dtype.Float64
	if !float || next.DType != t || m.Sides || !slices.Contains(next.Slots, m.Slot) || !e.takes(next, channels) {
		return e, false
	}
	if next.Kind == View {
		e.Affine = false // channels are on another axis now
		return e, true
	}
	p := part{Pattern: next, in: make([]int, m.SecondInputs)}
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

// Apply applies the epilogues to y, the result of a kernel whose inputs are in, as one run of it was given them: a
// tensor of element type Float32 or Float64 that has the given number of channels, each of them space elements in a
// row ([N, channels, space]).
func (e List) Apply(x *op.Exec, in []*tensor.Dense, y *tensor.Dense, channels, space int) {
	if y == nil {
		panic("op: Epilogues.Apply: the tensor is nil")
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

// Adds reports whether something of the same shape is added.
func (e List) Adds() bool {
	return slices.ContainsFunc(e.Parts, func(p part) bool { return p.Kind == Add })
}

// takes reports whether t may follow.
func (e List) takes(t *Pattern, channels int) bool {
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

// other is the operand of a sum or product that the kernel does not compute.
func other[T kernel.Float](p *part, in []*tensor.Dense) []T {
	if p.in[0] < 0 {
		return inputOf[T](p, in, 1)
	}
	return inputOf[T](p, in, 0)
}

// AfterAffine is what an epilogue does after scale and shift, for the inputs of a run.
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

// scaleShift is the scale and shift of an epilogue for the inputs of a run; bias, one number for each
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

// Steps is e for the inputs of a run; bias, one number for each channel or nil, comes first.
func Steps[T kernel.Float](x *op.Exec, e List, channels int, bias []T, in []*tensor.Dense) elementwise.Epilogue[T] {
	r := AfterAffine[T](e, in)
	r.Scale, r.Shift = scaleShift(x, e, channels, bias, in)
	return r
}

// AffineKey tells epilogues apart that scale and shift in other ways.
func (e List) AffineKey() string {
	var key strings.Builder
	for i := range e.Parts {
		if p := &e.Parts[i]; p.Kind < Add {
			fmt.Fprint(&key, p.Kind, p.Epsilon, p.in, ";")
		}
	}
	return key.String()
}

// AffineInputs are those of a run that scale and shift depend on, after the given ones.
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
