package convolution

import (
	"unsafe"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// Weights is weights of a convolution in the order in which Forward reads them, multiplied by
// the scale of an epilogue, and the epilogue's shift. It serves batches of any size, and images of any size with the same LiveTaps.
type Weights[T kernel.Float] struct {
	weights, shift []T
}

// Bytes returns how many bytes the elements take.
func (w *Weights[T]) Bytes() int64 {
	return int64(len(w.weights)+len(w.shift)) * int64(unsafe.Sizeof(*new(T)))
}

// Packs reports whether Pack has something to do for a convolution.
func Packs[T kernel.Float](s *Shape) bool {
	if u, _, ok := s.trim(); ok {
		s = &u
	}
	g := s.geometry()
	if g.swaps() || regionsFor[T](s, &g, winogradY) != nil {
		return false
	}
	if !kernel.Has(kernel.ConvGroup) || !kernel.IsFloat32[T]() || g.empty() || winogradFor[T](s, &g, winogradY) != nil {
		return false
	}
	return windowsFit(&g) || rowsFit(&g) || !g.planar()
}

// Pack prepares weights, and scale and shift of e, in memory of scratch if that is not nil.
func Pack[T kernel.Float](p *kernel.Pool, s *Shape, w []T, e elementwise.Epilogue[T], scratch kernel.Scratch[T]) *Weights[T] {
	g := s.geometry()
	if u, taps, ok := s.trim(); ok {
		return Pack(p, &u, live(p, s, taps, w, scratch), e, scratch)
	}
	if g.planar() {
		c := &Weights[T]{kernel.Take(scratch, g.ker.Size()*g.oc), kernel.Take(scratch, g.oc)}
		scaleChannels(g.ker.Size(), w, e.Scale, c.weights)
		clear(c.shift[copy(c.shift, e.Shift):])
		return c
	}
	panels, k := g.panels(), g.k()*tileRows
	c := &Weights[T]{kernel.Take(scratch, g.groups*panels*k), packShift(g.groups, g.og, e.Shift, scratch)}
	p.Range(g.groups*panels, max(1, 1<<13/k), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			packForward(g.og, g.k(), i/panels, i%panels, w, e.Scale, c.weights[i*k:][:k])
		}
	})
	return c
}

// ForwardPacked is Forward with packed weights; e has neither scale nor shift.
func ForwardPacked[T kernel.Float](p *kernel.Pool, s *Shape, x []T, w *Weights[T], e elementwise.Epilogue[T], y []T, scratch kernel.Scratch[T]) {
	if u, _, ok := s.trim(); ok {
		s = &u
	}
	g := s.geometry()
	if g.planar() {
		e.Shift = w.shift
		depthForward(p, &g, x, w.weights, e, y, scratch)
		return
	}
	d := newDirect(&g, x, e, y)
	d.a, d.shift = w.weights, w.shift
	d.run(p, scratch)
}

// scaleChannels multiplies n weights of each channel by scale, which may be nil.
func scaleChannels[T kernel.Float](n int, w, scale, to []T) {
	copy(to, w)
	for c, f := range scale {
		for i := range n {
			to[c*n+i] *= f
		}
	}
}
