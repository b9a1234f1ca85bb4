package op

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// tail says what an operator does to an operand that another kernel has just computed, for kernels
// that can do it themselves while that is still in a cache. It is what Core.Does holds.
type tail struct {
	kind     tailKind
	slots    []int // the inputs that can be the operand
	dtype    DType
	channels int               // of the operand; 0: it has no channel axis
	eps      float64           // of tailNorm
	act      kernel.Activation // of tailAct, whose inputs 1 and 2, where present, are the bounds of a clip, and of tailSlope
	chain    *chain            // the operator as a chain, nil if it is none; without slots it is no tail
}

// tailKind tells tails apart, in the order in which a kernel.Epilogue works; the first three may
// come in any order.
type tailKind uint8

const (
	tailNorm  tailKind = iota // inputs 1 to 4 are scale, shift, mean and variance of each channel
	tailScale                 // the product with the other operand, one number for each channel
	tailShift                 // the sum with the other operand, one number for each channel
	tailAdd                   // the sum with the other operand, of the same shape
	tailAct                   // a function of each element
	tailSlope                 // the product with the slope of a function at the elements of input 1
	tailView                  // the same elements in another shape, at any place
)

// ending is the tails that a kernel has taken over, in order.
type ending struct {
	affine bool // channels can still be scaled and shifted
	slopes bool // the kernel can multiply by slopes
	parts  []endPart
}

type endPart struct {
	*tail
	in []int // where the kernel finds the inputs of the part; -1: the operand
}

// absorber makes an Absorb function of an operator whose output has that many channels and which
// run makes a kernel of, given how it ends; again, if not nil, makes its Core.Again.
func absorber(t DType, channels int, e ending, run func(ending) Kernel, again func(ending) *engine.Again) func(self, next *engine.Core, slot int) *engine.Core {
	if t != dtype.Float32 && t != dtype.Float64 {
		return nil // the steps between are rounded to a narrower type
	}
	return func(self, next *engine.Core, slot int) *engine.Core {
		more, ok := e.absorbs(t, channels, self, next, slot)
		if !ok {
			return nil
		}
		core := &engine.Core{Kernel: run(more).engine(), Sides: true, Absorb: absorber(t, channels, more, run, again)}
		if again != nil {
			core.Again = again(more)
		}
		return core
	}
}

// absorbs is e followed by what next does to self, whose output has that many channels, if that is possible.
func (e ending) absorbs(t DType, channels int, self, next *engine.Core, slot int) (ending, bool) {
	part := tailOf(next, t)
	if part == nil || part.dtype != t || !slices.Contains(part.slots, slot) || !e.takes(part, channels) {
		return e, false
	}
	return e.with(part, self.Inputs, next.Inputs, slot), true
}

// tailOf is what next does to an operand of type t; nil if that is no tail.
func tailOf(next *engine.Core, t DType) *tail {
	switch d := next.Does.(type) {
	case *tail:
		return d
	case engine.Addition:
		return &tail{kind: tailAdd, slots: []int{0, 1}, dtype: t}
	}
	return nil
}

// adds says whether something of the same shape is added.
func (e ending) adds() bool {
	return slices.ContainsFunc(e.parts, func(p endPart) bool { return p.kind == tailAdd })
}

// takes says whether t may follow.
func (e ending) takes(t *tail, channels int) bool {
	if t.kind == tailView {
		return true
	}
	last := tailNorm
	if n := len(e.parts); n > 0 {
		last = e.parts[n-1].kind
	}
	if t.kind < tailAdd {
		return e.affine && last < tailAdd && t.channels == channels
	}
	return t.kind > last && (t.kind != tailSlope || e.slopes)
}

// with is e followed by t, whose inputs come after the first own ones, without that of slot.
func (e ending) with(t *tail, own, inputs, slot int) ending {
	if t.kind == tailView {
		e.affine = false // channels lie elsewhere now
		return e
	}
	p := endPart{tail: t, in: make([]int, inputs)}
	for i := range p.in {
		switch {
		case i < slot:
			p.in[i] = own + i
		case i == slot:
			p.in[i] = -1
		default:
			p.in[i] = own + i - 1
		}
	}
	e.parts = append(slices.Clip(e.parts), p)
	return e
}

// endInput is input i of part p, nil if it is the operand or absent.
func endInput[T kernel.Float](p *endPart, in []*tensor.Dense, i int) []T {
	if i >= len(p.in) || p.in[i] < 0 {
		return nil
	}
	return elemsAt[T](in, p.in[i])
}

// other is the operand of a sum or product that the kernel does not compute.
func other[T kernel.Float](p *endPart, in []*tensor.Dense) []T {
	if p.in[0] < 0 {
		return endInput[T](p, in, 1)
	}
	return endInput[T](p, in, 0)
}

// finish is what an epilogue does behind scale and shift, for the inputs of a run.
func finish[T kernel.Float](e ending, in []*tensor.Dense) (r kernel.Epilogue[T]) {
	for i := range e.parts {
		switch p := &e.parts[i]; p.kind {
		case tailAdd:
			r.Add = other[T](p, in)
		case tailAct:
			if r.Act = p.act; r.Act.Kind == kernel.ActClip {
				if low := endInput[T](p, in, 1); len(low) > 0 {
					r.Act.Alpha = float64(low[0])
				}
				if high := endInput[T](p, in, 2); len(high) > 0 {
					r.Act.Beta = float64(high[0])
				}
			}
		case tailSlope:
			r.Slope, r.At = p.act, endInput[T](p, in, 1)
		}
	}
	return r
}

// scaleShift is the scale and shift of an epilogue for the inputs of a run; bias, one number for each
// channel or nil, comes first.
func scaleShift[T kernel.Float](x *Exec, e ending, channels int, bias []T, in []*tensor.Dense) (scale, shift []T) {
	r := kernel.Epilogue[T]{Shift: bias}
	for i := range e.parts {
		if p := &e.parts[i]; p.kind < tailAdd {
			foldAffine(x, p, channels, &r, in)
		}
	}
	return r.Scale, r.Shift
}

// epilogue is e for the inputs of a run; bias, one number for each channel or nil, comes first.
func epilogue[T kernel.Float](x *Exec, e ending, channels int, bias []T, in []*tensor.Dense) kernel.Epilogue[T] {
	r := finish[T](e, in)
	r.Scale, r.Shift = scaleShift(x, e, channels, bias, in)
	return r
}

// affineKey tells endings apart that scale and shift in other ways.
func (e ending) affineKey() string {
	var key strings.Builder
	for i := range e.parts {
		if p := &e.parts[i]; p.kind < tailAdd {
			fmt.Fprint(&key, p.kind, p.eps, p.in, ";")
		}
	}
	return key.String()
}

// affineInputs are those of a run that scale and shift depend on, behind the given ones.
func (e ending) affineInputs(in []*tensor.Dense, first ...int) []*tensor.Dense {
	var list []*tensor.Dense
	add := func(i int) {
		if i >= 0 && i < len(in) && in[i] != nil {
			list = append(list, in[i])
		}
	}
	for _, i := range first {
		add(i)
	}
	for i := range e.parts {
		if p := &e.parts[i]; p.kind < tailAdd {
			for _, k := range p.in {
				add(k)
			}
		}
	}
	return list
}

// foldAffine makes (y·Scale + Shift)·a + b of y·Scale + Shift, channel by channel.
func foldAffine[T kernel.Float](x *Exec, p *endPart, channels int, r *kernel.Epilogue[T], in []*tensor.Dense) {
	buffer := scratch[T](x)(2 * channels)
	scale, shift := buffer[:channels], buffer[channels:]
	a, b := r.Scale, r.Shift
	var gain, bias, mean, variance []T
	switch p.kind {
	case tailNorm:
		gain, bias, mean, variance = endInput[T](p, in, 1), endInput[T](p, in, 2), endInput[T](p, in, 3), endInput[T](p, in, 4)
	case tailScale:
		gain = other[T](p, in)
	case tailShift:
		bias = other[T](p, in)
	}
	for i := range scale {
		g, h := T(1), T(0)
		if gain != nil {
			g = gain[i]
		}
		if variance != nil {
			g = T(1/math.Sqrt(float64(variance[i]+T(p.eps)))) * g
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
	if r.Shift = shift; p.kind != tailShift || a != nil {
		r.Scale = scale
	}
}
