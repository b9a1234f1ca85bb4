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
	e.planes(p, g.c, g.in.size(), y[:g.n*g.c*g.in.size()])
}

// ConvTransposedPacks tells whether PackConvTransposed has something to do for a transposed convolution: whether it is
// computed phase by phase, each from packed weights, and every output is part of a phase.
func ConvTransposedPacks[T Float](s *ConvShape) bool {
	g := s.geometry()
	if !has(convGroup) || !single[T]() || g.empty() || winogradFor[T](s, &g, winogradDX) != nil || halved[T](&g) || g.cg == 1 && g.groups > 1 {
		return false
	}
	phases := g.phases()
	for i := range phases {
		if len(phases[i].taps) == 0 {
			return false
		}
	}
	return len(phases) == g.stride.size() // small results lack some: the weights would not fit larger ones
}

// PackConvTransposed prepares weights, phase after phase, and scale and shift of e, in memory of scratch if that is
// not nil. They serve batches and images of any size that ConvTransposedPacks.
func PackConvTransposed[T Float](p *Pool, s *ConvShape, w []T, e Epilogue[T], scratch Scratch[T]) *ConvWeights[T] {
	g := s.geometry()
	panels := g.groups * cdiv(g.cg, tileRows)
	packed := take(scratch, panels*tileRows*g.og*g.ker.size())
	c := &ConvWeights[T]{packed, packShift(g.groups, g.cg, e.Shift, scratch)}
	for _, ph := range g.phases() {
		k := g.og * len(ph.taps) * tileRows
		part := packed[:panels*k]
		packed = packed[panels*k:]
		p.Range(panels, max(1, 1<<13/k), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				group, panel := i/(panels/g.groups), i%(panels/g.groups)
				packData(&g, ph.kernel, group, panel, w, part[i*k:][:k])
				if e.Scale != nil {
					first := panel * tileRows
					scalePanel(e.Scale[group*g.cg+first:][:min(tileRows, g.cg-first)], part[i*k:][:k])
				}
			}
		})
	}
	return c
}

// ConvTransposedPacked is ConvTransposed with packed weights; e has neither scale nor shift.
func ConvTransposedPacked[T Float](p *Pool, s *ConvShape, x []T, w *ConvWeights[T], e Epilogue[T], y []T, scratch Scratch[T]) {
	g := s.geometry()
	packed, phases := w.weights, g.phases()
	for i := range phases {
		d := newPhase(&g, &phases[i], x, y)
		if e.Add == nil {
			d.clip, d.act = e.bounds()
		}
		size := g.groups * d.panels() * d.k() * tileRows
		d.a, d.shift, packed = packed[:size], w.shift, packed[size:]
		d.run(p, scratch)
	}
	if e.Add != nil {
		e.planes(p, g.c, g.in.size(), y[:g.n*g.c*g.in.size()])
	}
}
