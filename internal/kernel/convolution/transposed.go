package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// Transposed computes the transposed convolution y [N, C, In…] of x [N, OC, Out…] with the weights w of s, which is the
// gradient of the convolution s with respect to its input, and applies the epilogue e to the C channels. scratch may be
// nil.
func Transposed[T kernel.Float](p *kernel.Pool, s *Shape, x, w []T, e elementwise.Epilogue[T], y []T, scratch kernel.Scratch[T]) {
	if TransposedPacks[T](s) {
		packed := PackTransposed(p, s, w, e, scratch)
		e.Scale, e.Shift = nil, nil
		TransposedPacked(p, s, x, packed, e, y, scratch)
		return
	}
	BackwardData(p, s, x, w, y, scratch)
	g := s.geometry()
	e.Planes(p, g.c, g.in.Size(), y[:g.n*g.c*g.in.Size()])
}

// TransposedPacks reports whether a transposed convolution is computed from packed weights, which PackTransposed
// prepares.
func TransposedPacks[T kernel.Float](s *Shape) bool {
	g := s.geometry()
	if _, _, trimmed := s.trim(); trimmed {
		return false
	}
	if g.ker.Size() > mostCached || g.swaps() || regionsFor[T](s, &g, winogradDX) != nil {
		return false
	}
	if !kernel.Has(kernel.ConvGroup) || !kernel.IsFloat32[T]() || g.empty() || winogradFor[T](s, &g, winogradDX) != nil || stretches[T](&g) || g.cg == 1 && g.groups > 1 {
		return false
	}
	l := g.lines()
	return len(l.taps) > 0 && len(g.phases()) == g.stride.Size() // small results lack some phases: their packed weights would not fit larger ones
}

// PackTransposed packs the weights, and the scale and shift of e, in memory of scratch if that is not nil. The result
// is valid for all batch and image sizes for which TransposedPacks is true.
func PackTransposed[T kernel.Float](p *kernel.Pool, s *Shape, w []T, e elementwise.Epilogue[T], scratch kernel.Scratch[T]) *Weights[T] {
	g := s.geometry()
	l, panels := g.lines(), kernel.CeilDiv(g.cg, tileRows)
	k := g.og * l.sums * tileRows
	c := &Weights[T]{kernel.Take(scratch, g.groups*panels*k), packShift(g.groups, g.cg, e.Shift, scratch)}
	p.Range(g.groups*panels, max(1, 1<<13/k), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			packLines(&g, l, i/panels, i%panels, w, e.Scale, c.weights[i*k:][:k])
		}
	})
	return c
}

// TransposedPacked is Transposed with packed weights; e has neither scale nor shift.
func TransposedPacked[T kernel.Float](p *kernel.Pool, s *Shape, x []T, w *Weights[T], e elementwise.Epilogue[T], y []T, scratch kernel.Scratch[T]) {
	g := s.geometry()
	d := newLines(&g, x, y)
	if g.stride.Size() == 1 { // without strides there is nothing to interleave
		d = newDense(&g, x, y)
	}
	d.a, d.shift = w.weights, w.shift
	if e.Add == nil {
		d.clip, d.act = e.Bounds()
	}
	d.run(p, scratch)
	if e.Add != nil {
		e.Planes(p, g.c, g.in.Size(), y[:g.n*g.c*g.in.Size()])
	}
}
