package kernel

// stretchData is ConvBackwardData for kernels of one point that read every other point of every other
// row. Only these points have a gradient: it is computed as that of a convolution with stride 1, and then
// each row of dx is written once, zeros and all. It tells whether the convolution was one of those.
func stretchData[T Float](p *Pool, g *geometry, dy, w, dx []T, scratch Scratch[T]) bool {
	half := triple{g.in[0], cdiv(g.in[1], 2), cdiv(g.in[2], 2)}
	if !has(convGroup) || !single[T]() || g.empty() || g.groups > 1 || g.ker.size() > 1 || g.stride != (triple{1, 2, 2}) || g.pad != (triple{}) || g.out != half {
		return false
	}
	dense := *g
	dense.in, dense.stride = half, triple{1, 1, 1}
	points := take(scratch, g.n*g.c*half.size())
	directPhase(p, &dense, &dense.phases()[0], dy, w, points, scratch)
	planes := g.n * g.c * g.in[0]
	in, from := g.in[1]*g.in[2], half[1]*half[2]
	p.Range(planes, max(1, elementGrain/in), func(lo, hi int) {
		stretch(hi-lo, g.in[1], g.in[2], as32(points[lo*from:hi*from]), as32(dx[lo*in:hi*in]))
	})
	return true
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
