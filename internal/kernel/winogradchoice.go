package kernel

// A pass over a convolution.
type convPass int

const (
	passForward convPass = iota
	passData
	passWeight
)

// winogradFor is the algorithm for a pass, nil for none: which one depends on the shape alone.
// BenchmarkWinograd is what the numbers come from.
func winogradFor[T Float](s *ConvShape, g *geometry, pass convPass) *winogradTile {
	if s.exact || !single[T]() || !winogradFits(g) {
		return nil
	}
	if g.c < 16 || g.oc < 16 {
		return nil
	}
	return winograd4
}

// winogradFits tells whether a convolution is one that winograd can compute.
func winogradFits(g *geometry) bool {
	ones := triple{1, 1, 1}
	if g.groups != 1 || g.ker != (triple{1, 3, 3}) || g.stride != ones || g.dil != ones || g.pad[0] != 0 || g.in[0] != 1 || g.out[0] != 1 {
		return false
	}
	for d := 1; d < 3; d++ {
		if g.pad[d] < 0 || g.pad[d] > 2 || g.out[d] < 1 || g.out[d] > g.in[d]+2*g.pad[d] {
			return false
		}
	}
	return g.n > 0
}

// image is the shape of one image of s, not to be computed by winograd again.
func (s *ConvShape) image() *ConvShape {
	one := *s
	one.N, one.exact = 1, true
	return &one
}

// winogradForward is ConvForward for shapes that winograd is for; it tells whether it was.
func winogradForward[T Float](p *Pool, s *ConvShape, x, w []T, e Epilogue[T], y []T, scratch Scratch[T]) bool {
	g := s.geometry()
	t := winogradFor[T](s, &g, passForward)
	if t == nil {
		return false
	}
	in, out := g.c*g.in.size(), g.oc*g.out.size()
	forwardWinograd(p, t, &g, x, w, e, y, scratch, func(i int) {
		e := e
		if e.Add != nil {
			e.Add = e.Add[i*out:][:out]
		}
		ConvForward(p, s.image(), x[i*in:][:in], w, e, y[i*out:][:out], scratch)
	})
	return true
}

// winogradBackwardData is the same for ConvBackwardData.
func winogradBackwardData[T Float](p *Pool, s *ConvShape, dy, w, dx []T, scratch Scratch[T]) bool {
	g := s.geometry()
	t := winogradFor[T](s, &g, passData)
	if t == nil {
		return false
	}
	in, out := g.c*g.in.size(), g.oc*g.out.size()
	dataWinograd(p, t, &g, dy, w, dx, scratch, func(i int) {
		ConvBackwardData(p, s.image(), dy[i*out:][:out], w, dx[i*in:][:in], scratch)
	})
	return true
}

// winogradBackwardWeight is the same for ConvBackwardWeight.
func winogradBackwardWeight[T Float](p *Pool, s *ConvShape, x, dy, dw []T, scratch Scratch[T]) bool {
	g := s.geometry()
	t := winogradFor[T](s, &g, passWeight)
	// Where something is infinite or NaN, the caller goes the other way.
	return t != nil && weightWinograd(p, t, &g, x, dy, dw, scratch)
}

func forwardWinograd[T Float](p *Pool, t *winogradTile, g *geometry, x, w []T, e Epilogue[T], y []T, scratch Scratch[T], again func(image int)) {
	a := winograd[T]{
		winogradTile: t,
		in: winogradPlanes[T]{
			x: x, channels: g.c, high: g.in[1], wide: g.in[2], pad: [2]int{g.pad[1], g.pad[2]},
			rows: cdiv(g.out[1], t.m), cols: cdiv(g.out[2], t.m),
		},
		taps: winogradTaps[T]{w: w, lane: 9 * g.c, step: 9, lanes: g.oc},
		n:    g.n, oc: g.oc, high: g.out[1], wide: g.out[2], y: y, e: e,
	}
	a.run(p, scratch, again)
}

func dataWinograd[T Float](p *Pool, t *winogradTile, g *geometry, dy, w, dx []T, scratch Scratch[T], again func(image int)) {
	a := winograd[T]{
		winogradTile: t,
		in: winogradPlanes[T]{
			x: dy, channels: g.oc, high: g.out[1], wide: g.out[2], pad: [2]int{2 - g.pad[1], 2 - g.pad[2]},
			rows: cdiv(g.in[1], t.m), cols: cdiv(g.in[2], t.m),
		},
		taps: winogradTaps[T]{w: w, lane: 9, step: 9 * g.c, lanes: g.c, turned: true},
		n:    g.n, oc: g.c, high: g.in[1], wide: g.in[2], y: dx,
	}
	a.run(p, scratch, again)
}

func weightWinograd[T Float](p *Pool, t *winogradTile, g *geometry, x, dy, dw []T, scratch Scratch[T]) bool {
	rows, cols := cdiv(g.out[1], t.m), cdiv(g.out[2], t.m)
	a := winogradGradient[T]{
		winogradTile: t,
		x: winogradPlanes[T]{
			x: x, channels: g.c, high: g.in[1], wide: g.in[2], pad: [2]int{g.pad[1], g.pad[2]},
			rows: rows, cols: cols,
		},
		dy: winogradPlanes[T]{
			x: dy, channels: g.oc, high: g.out[1], wide: g.out[2], rows: rows, cols: cols, delta: true,
		},
		n: g.n, dw: dw,
	}
	return a.run(p, scratch)
}
