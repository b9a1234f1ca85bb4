package elementwise

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// Epilogue is the elementwise function that is applied to an output y of a convolution or product
// while it is in a cache. With c the channel of the output:
//
//	y = Act(y*Scale[c] + Shift[c] + Add) * Slope'(At)
//
// The zero value leaves y unchanged; a bias is a Shift without Scale. Only matrix products support Slope.
type Epilogue[T kernel.Float] struct {
	Scale, Shift []T        // one per output channel, nil for 1 and 0
	Add          []T        // of y's shape, must not overlap y; nil for 0
	Act          Activation // ActDefault: none
	Slope        Activation // function whose derivative is a factor, see [Activation.HasSlope]
	At           []T        // of y's shape: the values at which the derivative is taken; nil for a factor of 1
}

// IsPlain reports whether micro-kernels can apply the whole epilogue: a shift, and clipping below 0.
func (e *Epilogue[T]) IsPlain() bool {
	return e.Scale == nil && e.Add == nil && e.At == nil && (e.Act.Kind == ActDefault || e.Act.Kind == ActRelu)
}

// IsNone reports whether the epilogue leaves y unchanged.
func (e *Epilogue[T]) IsNone() bool { return e.IsPlain() && e.Shift == nil && e.Act.Kind == ActDefault }

// EpilogueBlock is the number of elements to which all steps are applied before the next block, so that
// they stay in the L1 cache.
const EpilogueBlock = 2048

// Row applies the epilogue to contiguous elements y of channel c; at is their offset in the whole tensor.
func (e *Epilogue[T]) Row(y []T, c, at int) {
	for lo := 0; lo < len(y); lo += EpilogueBlock {
		part := y[lo:min(len(y), lo+EpilogueBlock)]
		switch {
		case e.Scale != nil && e.Shift != nil:
			vector.Affine(part, part, e.Scale[c], e.Shift[c])
		case e.Scale != nil:
			BinaryScalarInto(OpMul, part, part, e.Scale[c])
		case e.Shift != nil:
			BinaryScalarInto(OpAdd, part, part, e.Shift[c])
		}
		if e.Add != nil {
			BinaryInto(OpAdd, part, part, e.Add[at+lo:][:len(part)])
		}
		Activate(e.Act, part)
		if e.At != nil {
			TimesSlope(e.Slope, part, part, e.At[at+lo:])
		}
	}
}

// HasSlope reports whether an Epilogue can multiply by the derivative of a.
func (a Activation) HasSlope() bool { return a.Kind == ActGelu || a.Kind == ActGeluTanh }

// TimesSlope multiplies dy by the derivative of a at x; dx may be dy.
func TimesSlope[T kernel.Float](a Activation, dx, dy, x []T) {
	x = x[:len(dx)]
	if a.Kind == ActGeluTanh {
		geluTanhGradInto(dx, dy, x)
		return
	}
	geluGradInto(dx, dy, x)
}

// Planes applies the epilogue to y, images of channels planes of space elements each.
func (e *Epilogue[T]) Planes(p *kernel.Pool, channels, space int, y []T) {
	if e.IsNone() || len(y) == 0 {
		return
	}
	p.Range(len(y)/space, max(1, kernel.ElementGrain/space), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			e.Row(y[i*space:][:space], i%channels, i*space)
		}
	})
}

// ActivateBlocks is Activate in blocks that fit into the L1 cache.
func ActivateBlocks[T kernel.Float](a Activation, x []T) {
	for lo := 0; lo < len(x); lo += EpilogueBlock {
		Activate(a, x[lo:min(len(x), lo+EpilogueBlock)])
	}
}

// Activate replaces x by a(x); ActDefault leaves x unchanged.
func Activate[T kernel.Float](a Activation, x []T) {
	switch alpha, beta := T(a.Alpha), T(a.Beta); a.Kind {
	case ActDefault:
	case ActClip:
		BinaryScalarInto(OpMax, x, x, alpha)
		BinaryScalarInto(OpMin, x, x, beta)
	case ActSelu:
		Exponential[T]{alpha, beta, 1}.into(x, x)
	case ActHardSigmoid:
		vector.Affine(x, x, alpha, beta)
		BinaryScalarInto(OpMin, x, x, 1)
		BinaryScalarInto(OpMax, x, x, 0)
	case ActHardSwish:
		hardSwishInto(x, x)
	case ActSilu:
		swishInto(1, x, x)
	case ActGelu:
		geluInto(x, x)
	case ActGeluTanh:
		geluTanhInto(x, x)
	default:
		Apply(a, x)
	}
}

// Bounds splits the activation into bounds to clip to, nil for none, and an activation to apply later.
// If Add is set, bounds are returned in any case.
func (e *Epilogue[T]) Bounds() (clip *[2]T, later Activation) {
	inf := T(math.Inf(1))
	switch e.Act.Kind {
	case ActRelu:
		return &[2]T{0, inf}, Activation{}
	case ActClip:
		return &[2]T{T(e.Act.Alpha), T(e.Act.Beta)}, Activation{}
	}
	if e.Add != nil {
		clip = &[2]T{-inf, inf}
	}
	return clip, e.Act
}

// Limits returns the bounds to which the activation clips; false for other activations.
func (e *Epilogue[T]) Limits() (lo, hi T, ok bool) {
	inf := T(math.Inf(1))
	switch e.Act.Kind {
	case ActDefault:
		return -inf, inf, true
	case ActRelu:
		return 0, inf, true
	case ActClip:
		return T(e.Act.Alpha), T(e.Act.Beta), true
	}
	return 0, 0, false
}
