package op

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Epilogue is a pattern: what a call does to an operand that another kernel has just computed, for kernels that
// can do it themselves while the operand is still in a cache.
type Epilogue struct {
	Kind     EpilogueKind // what is applied
	Slots    []int        // the inputs that can be the operand
	DType    DType        // of the operand, Float32 or Float64
	Channels int          // the length of the operand's axis 1; 0: it has none
	Epsilon  float64      // of EpilogueNormalize
	Func     EpilogueFunc // of EpilogueActivate and EpilogueSlope
}

// PatternName is "epilogue".
func (*Epilogue) PatternName() string { return "epilogue" }

// EpilogueKind tells epilogues apart, in the order in which a kernel applies them; the first three may come in any
// order.
type EpilogueKind uint8

// The kinds of epilogues, with x the operand and c its channel.
const (
	EpilogueNormalize EpilogueKind = iota // (x−in3[c])/√(in4[c]+Epsilon)·in1[c] + in2[c]
	EpilogueScale                         // x times the other operand, one number for each channel
	EpilogueShift                         // x plus the other operand, one number for each channel
	EpilogueAdd                           // x plus the other operand, of the same shape
	EpilogueActivate                      // a function of each element; inputs 1 and 2, where present, are the bounds of a clip
	EpilogueSlope                         // x times the derivative of a function at the elements of input 1
	EpilogueView                          // the elements of x in another shape
)

// EpilogueFunc is a function of single elements that kernels can apply to their results: its Kind, and Alpha and
// Beta where the kind has such parameters, always used as given.
type EpilogueFunc = elementwise.Activation

// The kinds of functions.
const (
	FuncRelu        = elementwise.ActRelu        // max(0, x)
	FuncLeakyRelu   = elementwise.ActLeakyRelu   // x, or Alpha·x below 0; Alpha is positive
	FuncElu         = elementwise.ActElu         // x, or Alpha·(eˣ−1) below 0
	FuncSelu        = elementwise.ActSelu        // Beta times x, or Beta·Alpha·(eˣ−1) below 0
	FuncClip        = elementwise.ActClip        // x between Alpha and Beta
	FuncTanh        = elementwise.ActTanh        // tanh x
	FuncSigmoid     = elementwise.ActSigmoid     // 1/(1+e⁻ˣ)
	FuncHardSigmoid = elementwise.ActHardSigmoid // Alpha·x + Beta between 0 and 1
	FuncHardSwish   = elementwise.ActHardSwish   // x times x/6 + ½ between 0 and 1
	FuncSilu        = elementwise.ActSilu        // x/(1+e⁻ˣ)
	FuncSoftplus    = elementwise.ActSoftplus    // log(1+eˣ)
	FuncSoftsign    = elementwise.ActSoftsign    // x/(1+|x|)
	FuncGelu        = elementwise.ActGelu        // x·(1+erf(x/√2))/2; it has a derivative, see EpilogueSlope
	FuncGeluTanh    = elementwise.ActGeluTanh    // its form by tanh; it has a derivative
)

// Epilogues are the epilogues that a kernel has taken up, in order.
type Epilogues struct {
	Affine bool           // channels can still be scaled and shifted
	slopes bool           // the kernel can multiply by derivatives
	Parts  []epiloguePart // in the order in which they are applied
}

type epiloguePart struct {
	*Epilogue
	in []int // where the kernel finds the inputs of the part; -1: the operand
}

// EpilogueHost is a pattern: a call whose kernel can go on with epilogues of its output 0.
type EpilogueHost struct {
	DType    DType // of output 0; other types than Float32 and Float64 take no epilogue, since each step is rounded
	Channels int   // the length of output 0's axis 1, whose elements epilogues scale and shift
	Affine   bool  // it can scale and shift channels
	Slopes   bool  // it can multiply by derivatives
	SumOnly  bool  // it can add one tensor, and nothing else
	// Kernel makes the kernel that applies e. Its inputs are those of the call, then those of the epilogues.
	Kernel func(e Epilogues) Kernel
	// InPlace gives the inputs whose memory the result may take over. nil: none.
	InPlace func(e Epilogues) []int
	// Rematerialize says how the result of that kernel is computed a second time. nil: it is not.
	Rematerialize func(e Epilogues) *Rematerialization

	taken *Epilogues // so far
}

// PatternName is "epilogue host".
func (*EpilogueHost) PatternName() string { return "epilogue host" }

// EpilogueFusions are the rules by which a kernel that is an EpilogueHost takes up epilogues.
func EpilogueFusions() []Fusion { return NewEpilogueFusions(fuseEpilogue) }

// NewEpilogueFusions are the rules that fuse a call that has pattern P with an Epilogue, be it a call with this pattern, a sum that is
// an operator of Gorgonia's, or a call that only gives its input another shape. fuse returns nil where it cannot.
func NewEpilogueFusions[P Pattern](fuse func(first P, e *Epilogue, m Meeting) *Fused) []Fusion {
	return []Fusion{
		NewFusion(fuse),
		NewFusion(func(first P, a engine.Addition, m Meeting) *Fused {
			return fuse(first, &Epilogue{Kind: EpilogueAdd, Slots: []int{0, 1}, DType: dtype.Of(a.DType)}, m)
		}),
		NewFusion(func(first P, r engine.Reshaping, m Meeting) *Fused {
			return fuse(first, &Epilogue{Kind: EpilogueView, Slots: []int{0}, DType: dtype.Of(r.DType)}, m)
		}),
	}
}

// fuseEpilogue lets a kernel take up one epilogue more.
func fuseEpilogue(h *EpilogueHost, next *Epilogue, m Meeting) *Fused {
	e := Epilogues{Affine: h.Affine, slopes: h.Slopes}
	if h.taken != nil {
		e = *h.taken
	}
	e, ok := e.With(next, h.DType, h.Channels, m)
	if !ok || h.SumOnly && !e.Adds() {
		return nil
	}
	f := &Fused{Kernel: h.Kernel(e), KeepsSides: true}
	if !h.SumOnly {
		more := *h
		more.taken = &e
		f.Patterns = []Pattern{&more}
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
func (e Epilogues) With(next *Epilogue, t DType, channels int, m Meeting) (Epilogues, bool) {
	float := t == dtype.Float32 || t == dtype.Float64
	if !float || next.DType != t || m.Sides || !slices.Contains(next.Slots, m.Slot) || !e.takes(next, channels) {
		return e, false
	}
	if next.Kind == EpilogueView {
		e.Affine = false // channels are on another axis now
		return e, true
	}
	p := epiloguePart{Epilogue: next, in: make([]int, m.SecondInputs)}
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
func (e Epilogues) Apply(x *Exec, in []*tensor.Dense, y *tensor.Dense, channels, space int) {
	if y == nil {
		panic("op: Epilogues.Apply: the tensor is nil")
	}
	if dtype.Of(y.Dtype()) == dtype.Float64 {
		applyEpilogues[float64](x, e, in, y, channels, space)
		return
	}
	applyEpilogues[float32](x, e, in, y, channels, space)
}

func applyEpilogues[T kernel.Float](x *Exec, e Epilogues, in []*tensor.Dense, y *tensor.Dense, channels, space int) {
	r := EpilogueSteps[T](x, e, channels, nil, in)
	r.Planes((*engine.Exec)(x).Pool(), channels, space, dtype.Elems[T](y))
}

// Adds reports whether something of the same shape is added.
func (e Epilogues) Adds() bool {
	return slices.ContainsFunc(e.Parts, func(p epiloguePart) bool { return p.Kind == EpilogueAdd })
}

// takes reports whether t may follow.
func (e Epilogues) takes(t *Epilogue, channels int) bool {
	if t.Kind == EpilogueView {
		return true
	}
	last := EpilogueNormalize
	if n := len(e.Parts); n > 0 {
		last = e.Parts[n-1].Kind
	}
	if t.Kind < EpilogueAdd {
		return e.Affine && last < EpilogueAdd && t.Channels == channels
	}
	return t.Kind > last && (t.Kind != EpilogueSlope || e.slopes)
}

// epilogueInput is input i of part p, nil if it is the operand or absent.
func epilogueInput[T kernel.Float](p *epiloguePart, in []*tensor.Dense, i int) []T {
	if i >= len(p.in) || p.in[i] < 0 {
		return nil
	}
	return dtype.ElemsAt[T](in, p.in[i])
}

// other is the operand of a sum or product that the kernel does not compute.
func other[T kernel.Float](p *epiloguePart, in []*tensor.Dense) []T {
	if p.in[0] < 0 {
		return epilogueInput[T](p, in, 1)
	}
	return epilogueInput[T](p, in, 0)
}

// EpilogueAfterAffine is what an epilogue does after scale and shift, for the inputs of a run.
func EpilogueAfterAffine[T kernel.Float](e Epilogues, in []*tensor.Dense) (r elementwise.Epilogue[T]) {
	for i := range e.Parts {
		switch p := &e.Parts[i]; p.Kind {
		case EpilogueAdd:
			r.Add = other[T](p, in)
		case EpilogueActivate:
			if r.Act = p.Func; r.Act.Kind == elementwise.ActClip {
				if low := epilogueInput[T](p, in, 1); len(low) > 0 {
					r.Act.Alpha = float64(low[0])
				}
				if high := epilogueInput[T](p, in, 2); len(high) > 0 {
					r.Act.Beta = float64(high[0])
				}
			}
		case EpilogueSlope:
			r.Slope, r.At = p.Func, epilogueInput[T](p, in, 1)
		}
	}
	return r
}

// scaleShift is the scale and shift of an epilogue for the inputs of a run; bias, one number for each
// channel or nil, comes first.
func scaleShift[T kernel.Float](x *Exec, e Epilogues, channels int, bias []T, in []*tensor.Dense) (scale, shift []T) {
	r := elementwise.Epilogue[T]{Shift: bias}
	for i := range e.Parts {
		if p := &e.Parts[i]; p.Kind < EpilogueAdd {
			foldAffine(x, p, channels, &r, in)
		}
	}
	return r.Scale, r.Shift
}

// EpilogueSteps is e for the inputs of a run; bias, one number for each channel or nil, comes first.
func EpilogueSteps[T kernel.Float](x *Exec, e Epilogues, channels int, bias []T, in []*tensor.Dense) elementwise.Epilogue[T] {
	r := EpilogueAfterAffine[T](e, in)
	r.Scale, r.Shift = scaleShift(x, e, channels, bias, in)
	return r
}

// AffineKey tells epilogues apart that scale and shift in other ways.
func (e Epilogues) AffineKey() string {
	var key strings.Builder
	for i := range e.Parts {
		if p := &e.Parts[i]; p.Kind < EpilogueAdd {
			fmt.Fprint(&key, p.Kind, p.Epsilon, p.in, ";")
		}
	}
	return key.String()
}

// AffineInputs are those of a run that scale and shift depend on, behind the given ones.
func (e Epilogues) AffineInputs(in []*tensor.Dense, first ...int) []*tensor.Dense {
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
		if p := &e.Parts[i]; p.Kind < EpilogueAdd {
			for _, k := range p.in {
				add(k)
			}
		}
	}
	return list
}

// foldAffine makes (y·Scale + Shift)·a + b of y·Scale + Shift, channel by channel.
func foldAffine[T kernel.Float](x *Exec, p *epiloguePart, channels int, r *elementwise.Epilogue[T], in []*tensor.Dense) {
	buffer := engine.Scratch[T]((*engine.Exec)(x))(2 * channels)
	scale, shift := buffer[:channels], buffer[channels:]
	a, b := r.Scale, r.Shift
	var gain, bias, mean, variance []T
	switch p.Kind {
	case EpilogueNormalize:
		gain, bias, mean, variance = epilogueInput[T](p, in, 1), epilogueInput[T](p, in, 2), epilogueInput[T](p, in, 3), epilogueInput[T](p, in, 4)
	case EpilogueScale:
		gain = other[T](p, in)
	case EpilogueShift:
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
	if r.Shift = shift; p.Kind != EpilogueShift || a != nil {
		r.Scale = scale
	}
}
