package kernel

import "math"

// Epilogue is what becomes of an output of a convolution right after its products have been
// added up, while it still lies in a cache: with c its channel,
//
//	y = Act(y*Scale[c] + Shift[c] + Add) * Slope'(At)
//
// The zero value leaves y as it is; a bias is a Shift without Scale. Only matrix products take a Slope.
type Epilogue[T Float] struct {
	Scale, Shift []T        // one per output channel, nil for 1 and 0
	Add          []T        // of y's shape and apart from y, nil for 0
	Act          Activation // ActDefault is none
	Slope        Activation // a function that has one, see [Activation.HasSlope]
	At           []T        // of y's shape: where its slope is taken; nil for 1
}

// plain tells whether a matrix product can do it all by itself: a shift, and clipping below 0.
func (e *Epilogue[T]) plain() bool {
	return e.Scale == nil && e.Add == nil && e.At == nil && (e.Act.Kind == ActDefault || e.Act.Kind == ActRelu)
}

// none tells whether there is nothing to do.
func (e *Epilogue[T]) none() bool { return e.plain() && e.Shift == nil && e.Act.Kind == ActDefault }

// epilogueBlock is how many elements go through all steps together: few enough for the first
// cache level.
const epilogueBlock = 2048

// row finishes elements of y that lie together in channel c; at is where they start in the whole.
func (e *Epilogue[T]) row(y []T, c, at int) {
	for lo := 0; lo < len(y); lo += epilogueBlock {
		part := y[lo:min(len(y), lo+epilogueBlock)]
		switch {
		case e.Scale != nil && e.Shift != nil:
			affine(part, part, e.Scale[c], e.Shift[c])
		case e.Scale != nil:
			binaryVS(OpMul, part, part, e.Scale[c])
		case e.Shift != nil:
			binaryVS(OpAdd, part, part, e.Shift[c])
		}
		if e.Add != nil {
			binaryVV(OpAdd, part, part, e.Add[at+lo:][:len(part)])
		}
		activate(e.Act, part)
		if e.At != nil {
			timesSlope(e.Slope, part, part, e.At[at+lo:])
		}
	}
}

// HasSlope says whether an Epilogue can multiply by the derivative of a.
func (a Activation) HasSlope() bool { return a.Kind == ActGelu || a.Kind == ActGeluTanh }

// timesSlope multiplies dy by the derivative of a at x; dx may be dy.
func timesSlope[T Float](a Activation, dx, dy, x []T) {
	x = x[:len(dx)]
	if a.Kind == ActGeluTanh {
		geluTanhGradInto(dx, dy, x)
		return
	}
	geluGradInto(dx, dy, x)
}

// Planes finishes y, images of channels planes of space elements each.
func (e *Epilogue[T]) Planes(p *Pool, channels, space int, y []T) {
	if e.none() || len(y) == 0 {
		return
	}
	p.Range(len(y)/space, max(1, elementGrain/space), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			e.row(y[i*space:][:space], i%channels, i*space)
		}
	})
}

// activateBlocks is activate for more elements than the first cache level holds.
func activateBlocks[T Float](a Activation, x []T) {
	for lo := 0; lo < len(x); lo += epilogueBlock {
		activate(a, x[lo:min(len(x), lo+epilogueBlock)])
	}
}

// activate replaces x by a(x); ActDefault leaves it.
func activate[T Float](a Activation, x []T) {
	switch alpha, beta := T(a.Alpha), T(a.Beta); a.Kind {
	case ActDefault:
	case ActClip:
		binaryVS(OpMax, x, x, alpha)
		binaryVS(OpMin, x, x, beta)
	case ActSelu:
		Exponential[T]{alpha, beta, 1}.into(x, x)
	case ActHardSigmoid:
		affine(x, x, alpha, beta)
		binaryVS(OpMin, x, x, 1)
		binaryVS(OpMax, x, x, 0)
	case ActHardSwish:
		hardSwishInto(x, x)
	case ActSilu:
		swishInto(1, x, x)
	case ActGelu:
		geluInto(x, x)
	case ActGeluTanh:
		geluTanhInto(x, x)
	default:
		apply(a, x)
	}
}

// bounds is the activation as bounds to clip to, nil for none, or as something to do afterwards.
// Where something is added there are bounds.
func (e *Epilogue[T]) bounds() (clip *[2]T, later Activation) {
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

// limits are the bounds that the activation cuts at; false if it does something else.
func (e *Epilogue[T]) limits() (lo, hi T, ok bool) {
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
