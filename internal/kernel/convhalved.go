package kernel

// Kernels of one point with stride 2 have to do with every other point of every other row alone. These
// are brought together, and what remains has stride 1.

// halved tells whether a convolution is one of those.
func halved[T Float](g *geometry) bool {
	return has(convGroup) && single[T]() && !g.empty() && g.groups == 1 && g.ker.size() == 1 && g.in[0] == 1 &&
		g.stride == triple{1, 2, 2} && g.pad == triple{} && g.out == triple{1, cdiv(g.in[1], 2), cdiv(g.in[2], 2)}
}

// stretches tells whether the gradient by data is that of the dense convolution, with a 0 behind each point and a row of
// them under each row.
func stretches[T Float](g *geometry) bool {
	return halved[T](g) && g.in[1] == 2*g.out[1] && g.in[2] == 2*g.out[2]
}

// dense is the convolution with stride 1 that remains.
func (g *geometry) dense() geometry {
	d := *g
	d.in, d.stride = g.out, triple{1, 1, 1}
	return d
}

// stretchData is ConvBackwardData where it stretches: the points that take part come to lie together first, so that dx is
// written once and in the order of memory.
func stretchData[T Float](p *Pool, g *geometry, dy, w, dx []T, scratch Scratch[T]) {
	dense := g.dense()
	planes, from, to := g.n*g.c, g.out[1]*g.out[2], g.in[1]*g.in[2]
	points := take(scratch, planes*from)
	directPhase(p, &dense, &dense.phases()[0], dy, w, points, scratch)
	p.Range(planes, max(1, elementGrain/to), func(lo, hi int) {
		stretch(hi-lo, g.out[1], g.out[2], points[lo*from:hi*from], dx[lo*to:hi*to])
	})
}

// stretch makes rows of n elements of planes, all of which lie together, twice as many of twice as many, with a 0 behind
// each and a row of them under each row.
func stretch[T Float](planes, rows, n int, src, dst []T) {
	_, _ = src[planes*rows*n-1], dst[4*planes*rows*n-1]
	stretchRows(planes*rows, n, &as32(src)[0], &as32(dst)[0])
}
