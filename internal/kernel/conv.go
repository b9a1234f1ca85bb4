package kernel

// ConvForward computes y = conv(x, w) and finishes it as e says. scratch may be nil.
func ConvForward[T Float](p *Pool, s *ConvShape, x, w []T, e Epilogue[T], y []T, scratch func(n int) []T) {
	if winogradForward(p, s, x, w, e, y, scratch) {
		return
	}
	if directForward(p, s, x, w, e, y, scratch) {
		return
	}
	if e.plain() {
		convForward(p, s, x, w, e.Shift, e.Act.Kind == ActRelu, y)
		return
	}
	convForward(p, s, x, w, nil, false, y)
	g := s.geometry()
	e.Planes(p, g.oc, g.out.size(), y[:g.n*g.oc*g.out.size()])
}

func convForward[T Float](p *Pool, s *ConvShape, x, w, bias []T, relu bool, y []T) {
	g := s.geometry()
	in, out := g.in.size(), g.out.size()
	y, x = y[:g.n*g.oc*out], x[:g.n*g.c*in]
	taps := g.taps()
	k := g.cg * len(taps)
	if len(y) == 0 {
		return
	}
	if k == 0 || len(x) == 0 {
		fillBias(p, g.n, g.oc, out, bias, relu, y)
		return
	}
	if g.planar() {
		depthwiseForward(p, &g, x, w, bias, relu, y)
		return
	}
	eachGroup(p, g.groups, func(p *Pool, i int) {
		m := product[T]{
			m: g.og, n: g.n * out, k: k, alpha: 1,
			a: w[i*g.og*k:][:g.og*k], rsA: k, csA: 1,
			b: &lattice[T]{
				x: x[i*g.cg*in:], channel: in, image: g.c * in,
				in: g.in, grid: g.out, stride: g.stride, taps: taps, columns: g.n * out,
			},
			c: y[i*g.og*out:], ldc: out, span: out, image: g.oc * out,
			relu: relu, weightB: 60,
		}
		if bias != nil {
			m.bias = bias[i*g.og:][:g.og]
		}
		m.run(p)
	})
}

// eachGroup runs f for each group: where there are enough of them one thread each,
// else one after the other with all threads.
func eachGroup(p *Pool, groups int, f func(p *Pool, i int)) {
	if groups < p.Threads() {
		for i := range groups {
			f(p, i)
		}
		return
	}
	p.Run(groups, func(_, i int) { f(nil, i) })
}

// fillBias is the convolution of nothing.
func fillBias[T Float](p *Pool, n, c, space int, bias []T, relu bool, y []T) {
	p.Range(n*c, max(1, 1<<14/max(space, 1)), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			var v T
			if bias != nil {
				v = bias[i%c]
			}
			if relu && v < 0 {
				v = 0
			}
			row := y[i*space:][:space]
			for q := range row {
				row[q] = v
			}
		}
	})
}
