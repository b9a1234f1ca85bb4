package kernel

// Kernels of one point with stride 2 have to do with every other point of every other row alone. These
// are brought together, and what remains has stride 1.

// halved tells whether a convolution is one of those.
func halved[T Float](g *geometry) bool {
	return has(convGroup) && single[T]() && !g.empty() && g.groups == 1 && g.ker.size() == 1 &&
		g.stride == triple{1, 2, 2} && g.pad == triple{} && g.out == triple{g.in[0], cdiv(g.in[1], 2), cdiv(g.in[2], 2)}
}

// dense is the convolution with stride 1 that remains.
func (g *geometry) dense() geometry {
	d := *g
	d.in, d.stride = g.out, triple{1, 1, 1}
	return d
}

// sample copies the points of x that have a part in the convolution, which becomes dense.
func sample[T Float](p *Pool, g *geometry, x []T, scratch Scratch[T]) ([]T, geometry) {
	high, wide := g.out[1], g.out[2]
	in, from := g.in[1]*g.in[2], high*wide
	planes := g.n * g.c * g.in[0]
	points := take(scratch, planes*from)
	p.Range(planes, max(1, elementGrain/in), func(lo, hi int) {
		pick(hi-lo, high, wide, x[lo*in:hi*in], in, 2*g.in[2], 2, points[lo*from:hi*from], from, wide)
	})
	return points, g.dense()
}

// stretchData is ConvBackwardData. Only the points that take part have a gradient: with them each row of
// dx is written once, zeros and all.
func stretchData[T Float](p *Pool, g *geometry, dy, w, dx []T, scratch Scratch[T]) {
	dense := g.dense()
	planes := g.n * g.c * g.in[0]
	in, from := g.in[1]*g.in[2], g.out[1]*g.out[2]
	points := take(scratch, planes*from)
	directPhase(p, &dense, &dense.phases()[0], dy, w, points, scratch)
	p.Range(planes, max(1, elementGrain/in), func(lo, hi int) {
		stretch(hi-lo, g.in[1], g.in[2], as32(points[lo*from:hi*from]), as32(dx[lo*in:hi*in]))
	})
}

// stretch sets planes of high×wide points, every other one of every other row to src and the others to 0.
func stretch(planes, high, wide int, src, dst []float32) {
	n, from, to := cdiv(wide, 2), cdiv(high, 2)*cdiv(wide, 2), high*wide
	_, _ = src[planes*from-1], dst[planes*to-1]
	if high%2 == 0 {
		stretchRows(planes*high/2, n, &src[0], &dst[0], 2*(wide-n))
		return
	}
	last := (high - 1) * wide // the last row has none of zeros behind it
	for i := range planes {
		s, d := src[i*from:][:from], dst[i*to:][:to]
		if high > 1 {
			stretchRows(high/2, n, &s[0], &d[0], 2*(wide-n))
		}
		for q := range d[last:] {
			d[last+q] = 0
			if q%2 == 0 {
				d[last+q] = s[from-n+q/2]
			}
		}
	}
}
