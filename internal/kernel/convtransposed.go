package kernel

// ConvTransposed computes the transposed convolution y [N, C, In…] of x [N, OC, Out…], which is the gradient of the
// convolution s by data, and finishes it as e says, whose channels are the C. scratch may be nil.
func ConvTransposed[T Float](p *Pool, s *ConvShape, x, w []T, e Epilogue[T], y []T, scratch Scratch[T]) {
	if ConvTransposedPacks[T](s) {
		packed := PackConvTransposed(p, s, w, e, scratch)
		e.Scale, e.Shift = nil, nil
		ConvTransposedPacked(p, s, x, packed, e, y, scratch)
		return
	}
	ConvBackwardData(p, s, x, w, y, scratch)
	g := s.geometry()
	e.Planes(p, g.c, g.in.size(), y[:g.n*g.c*g.in.size()])
}

// ConvTransposedPacks tells whether PackConvTransposed has something to do for a transposed convolution: whether it is
// computed from packed weights.
func ConvTransposedPacks[T Float](s *ConvShape) bool {
	g := s.geometry()
	if !has(convGroup) || !single[T]() || g.empty() || winogradFor[T](s, &g, winogradDX) != nil || stretches[T](&g) || g.cg == 1 && g.groups > 1 {
		return false
	}
	l := g.lines()
	return len(l.taps) > 0 && len(g.phases()) == g.stride.size() // small results lack some: the weights would not fit larger ones
}

// PackConvTransposed prepares weights, and scale and shift of e, in memory of scratch if that is not nil. They serve
// batches and images of any size that ConvTransposedPacks.
func PackConvTransposed[T Float](p *Pool, s *ConvShape, w []T, e Epilogue[T], scratch Scratch[T]) *ConvWeights[T] {
	g := s.geometry()
	l, panels := g.lines(), cdiv(g.cg, tileRows)
	k := g.og * l.sums * tileRows
	c := &ConvWeights[T]{take(scratch, g.groups*panels*k), packShift(g.groups, g.cg, e.Shift, scratch)}
	p.Range(g.groups*panels, max(1, 1<<13/k), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			packLines(&g, l, i/panels, i%panels, w, e.Scale, c.weights[i*k:][:k])
		}
	})
	return c
}

// ConvTransposedPacked is ConvTransposed with packed weights; e has neither scale nor shift.
func ConvTransposedPacked[T Float](p *Pool, s *ConvShape, x []T, w *ConvWeights[T], e Epilogue[T], y []T, scratch Scratch[T]) {
	g := s.geometry()
	d := newLines(&g, x, y)
	if g.stride.size() == 1 { // then there is nothing to weave
		d = newDense(&g, x, y)
	}
	d.a, d.shift = w.weights, w.shift
	if e.Add == nil {
		d.clip, d.act = e.bounds()
	}
	d.run(p, scratch)
	if e.Add != nil {
		e.Planes(p, g.c, g.in.size(), y[:g.n*g.c*g.in.size()])
	}
}
