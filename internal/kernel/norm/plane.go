package norm

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// plane is one channel of n images, or a part of one: space elements of each, first in the first image, stride from one image to the next.
// Its methods make one pass over it; the assembly processes all images in one call, because their planes may be small.
type plane[T kernel.Float] struct {
	pool                    *kernel.Pool
	n, first, stride, space int
}

// channel returns channel ch of x [n, c, space].
func channel[T kernel.Float](p *kernel.Pool, n, c, space, ch int) plane[T] {
	return plane[T]{p, n, ch * space, c * space, space}
}

// at returns the offset of image i.
func (p plane[T]) at(i int) int { return p.first + i*p.stride }

// parts calls f with consecutive parts of about kernel.LongRow elements at most, and checks between them whether the pool is stopped.
func (p plane[T]) parts(f func(part plane[T])) {
	if p.n*p.space <= kernel.LongRow {
		f(p)
		return
	}
	some := max(1, kernel.LongRow/p.space) // images
	for i := 0; i < p.n; i += some {
		if i > 0 {
			p.pool.Check()
		}
		p.pool.InParts(p.space, func(lo, hi int) { f(plane[T]{p.pool, min(some, p.n-i), p.at(i) + lo, p.stride, hi - lo}) })
	}
}

// fast reports whether the assembly applies.
func (p plane[T]) fast() bool { return kernel.SIMD && kernel.IsFloat32[T]() && p.n > 0 && p.space > 0 }

// start returns the address of the channel's first element in x, which is as long as the whole.
func (p plane[T]) start(x []T) *float32 {
	_ = x[p.at(p.n-1)+p.space-1]
	return &kernel.Float32s(x)[p.at(0)]
}

// differences returns the sums of x-pivot and of its squares.
func (p plane[T]) differences(x []T, pivot T) (s, square T) {
	p.parts(func(part plane[T]) {
		a, b := part.differencesOf(x, pivot)
		s, square = s+a, square+b
	})
	return s, square
}

func (p plane[T]) differencesOf(x []T, pivot T) (s, square T) {
	if p.fast() {
		v, out := float32(pivot), [2]float32{}
		planeMoments(p.n, p.space, p.stride, p.start(x), &v, &out[0])
		return T(out[0]), T(out[1])
	}
	for i := range p.n {
		for _, v := range x[p.at(i):][:p.space] {
			d := v - pivot
			s += d
			square += d * d
		}
	}
	return s, square
}

// moments returns the mean and variance of the channel, divided by the number of elements. It sums the
// differences from an estimate of the mean in one pass, and makes another pass if the estimate was bad.
func (p plane[T]) moments(x []T) (mean, variance T) {
	const far = 0.25 // maximum squared error of the estimate, in variances: more would lose digits
	count := T(p.n * p.space)
	guess := x[p.at(0):][:min(p.space, 256)]
	pivot := vector.BlockSum(guess) / T(len(guess))
	for range 2 {
		s, square := p.differences(x, pivot)
		d := s / count
		mean, variance = pivot+d, square/count-d*d
		if d*d <= far*variance {
			break
		}
		pivot = mean
	}
	return mean, max(variance, 0)
}

// affine is y = x*a + b, finished by e's sum and activation.
func (p plane[T]) affine(e *elementwise.Epilogue[T], a, b T, x, y []T) {
	p.parts(func(part plane[T]) { part.affineOf(e, a, b, x, y) })
}

func (p plane[T]) affineOf(e *elementwise.Epilogue[T], a, b T, x, y []T) {
	lo, hi, clip := e.Limits()
	if p.fast() && clip {
		s := [4]float32{float32(a), float32(b), float32(lo), float32(hi)}
		if e.Add == nil {
			planeAffine(p.n, p.space, p.stride, p.start(x), p.start(y), &s[0])
		} else {
			planeAffineAdd(p.n, p.space, p.stride, p.start(x), p.start(y), p.start(e.Add), &s[0])
		}
		return
	}
	for i := range p.n {
		for at, end := p.at(i), p.at(i)+p.space; at < end; at += elementwise.EpilogueBlock {
			hi := min(end, at+elementwise.EpilogueBlock)
			part := y[at:hi]
			vector.Affine(part, x[at:hi], a, b)
			if e.Add != nil {
				elementwise.BinaryInto(elementwise.OpAdd, part, part, e.Add[at:hi])
			}
			elementwise.Activate(e.Act, part)
		}
	}
}

// dots returns the sums of dy and of dy*(x-m) after the gate.
func (p plane[T]) dots(g *Gate[T], x, dy []T, m T) (s, sx T) {
	p.parts(func(part plane[T]) {
		a, b := part.dotsOf(g, x, dy, m)
		s, sx = s+a, sx+b
	})
	return s, sx
}

func (p plane[T]) dotsOf(g *Gate[T], x, dy []T, m T) (s, sx T) {
	if p.fast() {
		v, out := [3]float32{float32(m), float32(g.Lo), float32(g.Hi)}, [2]float32{}
		if g.Y == nil {
			planeDots(p.n, p.space, p.stride, p.start(dy), p.start(x), &v[0], &out[0])
		} else {
			planeDotsGated(p.n, p.space, p.stride, p.start(dy), p.start(x), p.start(g.Y), &v[0], &out[0])
		}
		return T(out[0]), T(out[1])
	}
	for i := range p.n {
		for k := p.at(i); k < p.at(i)+p.space; k++ {
			if d := dy[k]; g.open(k) {
				s += d
				sx += d * (x[k] - m)
			}
		}
	}
	return s, sx
}

// mix is dx = a*dy + b*x + c, with dy after the gate.
func (p plane[T]) mix(g *Gate[T], x, dy []T, a, b, c T, dx []T) {
	p.parts(func(part plane[T]) { part.mixOf(g, x, dy, a, b, c, dx) })
}

func (p plane[T]) mixOf(g *Gate[T], x, dy []T, a, b, c T, dx []T) {
	if p.fast() {
		v := [5]float32{float32(a), float32(b), float32(c), float32(g.Lo), float32(g.Hi)}
		if g.Y == nil {
			planeMix(p.n, p.space, p.stride, p.start(dy), p.start(x), p.start(dx), &v[0])
		} else {
			planeMixGated(p.n, p.space, p.stride, p.start(dy), p.start(x), p.start(dx), p.start(g.Y), &v[0])
		}
		return
	}
	for i := range p.n {
		for k := p.at(i); k < p.at(i)+p.space; k++ {
			d := T(0)
			if g.open(k) {
				d = dy[k]
			}
			dx[k] = d*a + x[k]*b + c
		}
	}
}

// scale is dx = a*dy, with dy after the gate.
func (p plane[T]) scale(g *Gate[T], dy []T, a T, dx []T) {
	p.parts(func(part plane[T]) { part.scaleOf(g, dy, a, dx) })
}

func (p plane[T]) scaleOf(g *Gate[T], dy []T, a T, dx []T) {
	for i := range p.n {
		lo, hi := p.at(i), p.at(i)+p.space
		row := dy[lo:hi]
		if g.Y != nil {
			row = dx[lo:hi]
			elementwise.ClipGradInto(row, dy[lo:hi], g.Y[lo:hi], g.Lo, g.Hi)
		}
		elementwise.BinaryScalarInto(elementwise.OpMul, dx[lo:hi], row, a)
	}
}
