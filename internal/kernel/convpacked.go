package kernel

// ConvWeights is weights of a convolution in the order in which ConvForward reads them, multiplied by
// the scale of an epilogue, and the epilogue's shift. It serves batches of any size.
type ConvWeights[T Float] struct {
	weights, shift []T
}

// ConvPacks tells whether PackConv has something to do for a convolution.
func ConvPacks[T Float](s *ConvShape) bool {
	g := s.geometry()
	if !has(convGroup) || !single[T]() || g.empty() || winogradFor[T](s, &g, winogradY) != nil {
		return false
	}
	return windowsFit(&g) || rowsFit(&g) || !g.planar()
}

// PackConv prepares weights, and scale and shift of e, in memory of scratch if that is not nil.
func PackConv[T Float](p *Pool, s *ConvShape, w []T, e Epilogue[T], scratch Scratch[T]) *ConvWeights[T] {
	g := s.geometry()
	if g.planar() {
		c := &ConvWeights[T]{take(scratch, g.ker.size()*g.oc), take(scratch, g.oc)}
		scaleChannels(g.ker.size(), w, e.Scale, c.weights)
		clear(c.shift[copy(c.shift, e.Shift):])
		return c
	}
	panels, k := g.panels(), g.k()*tileRows
	c := &ConvWeights[T]{take(scratch, g.groups*panels*k), packShift(g.groups, g.og, e.Shift, scratch)}
	p.Range(g.groups*panels, max(1, 1<<13/k), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			packForward(g.og, g.k(), i/panels, i%panels, w, e.Scale, c.weights[i*k:][:k])
		}
	})
	return c
}

// ConvForwardPacked is ConvForward with packed weights; e has neither scale nor shift.
func ConvForwardPacked[T Float](p *Pool, s *ConvShape, x []T, w *ConvWeights[T], e Epilogue[T], y []T, scratch Scratch[T]) {
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
func scaleChannels[T Float](n int, w, scale, to []T) {
	copy(to, w)
	for c, f := range scale {
		for i := range n {
			to[c*n+i] *= f
		}
	}
}
