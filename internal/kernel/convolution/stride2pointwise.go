package convolution

import "github.com/graft-ml/graft/internal/kernel"

// Kernels of one point with stride 2 depend on every other point of every other row alone. These
// are brought together, and what remains has stride 1.

// halved reports whether a convolution is one of those.
func stride2[T kernel.Float](g *geometry) bool {
	return kernel.Has(kernel.ConvGroup) && kernel.IsFloat32[T]() && !g.empty() && g.groups == 1 && g.ker.Size() == 1 && g.in[0] == 1 &&
		g.stride == Triple{1, 2, 2} && g.pad == Triple{} && g.out == Triple{1, kernel.CeilDiv(g.in[1], 2), kernel.CeilDiv(g.in[2], 2)}
}

// stretches reports whether the gradient with respect to the data is that of the dense convolution, with a 0 after each point and a row of
// them under each row.
func stretches[T kernel.Float](g *geometry) bool {
	return stride2[T](g) && g.in[1] == 2*g.out[1] && g.in[2] == 2*g.out[2]
}

// dense returns the convolution with stride 1 that remains.
func (g *geometry) dense() geometry {
	d := *g
	d.in, d.stride = g.out, Triple{1, 1, 1}
	return d
}

// DataAdds reports whether BackwardDataAdd can compute the gradient with respect to the data of a convolution.
func DataAdds[T kernel.Float](s *Shape) bool {
	g := s.geometry()
	return stretches[T](&g)
}

// BackwardDataAdd adds to dx what BackwardData sets it to. Points that get nothing are left alone, so that it
// takes less time, and no sum of both is needed.
func BackwardDataAdd[T kernel.Float](p *kernel.Pool, s *Shape, dy, w, dx []T, scratch kernel.Scratch[T]) {
	g := s.geometry()
	stretchData(p, &g, dy, w, dx, addStretch, scratch)
}

// stretchPoints is about how many points of an image are brought to their places at a time, from a cache.
const stretchPoints = 512

// stretchData computes the gradient with respect to the data where it stretches. The points that take part are brought together first, so
// that dx is gone through once and in the order of memory; put says what becomes of them.
func stretchData[T kernel.Float](p *kernel.Pool, g *geometry, dy, w, dx []T, put func(planes, rows, n int, src, dst []T), scratch kernel.Scratch[T]) {
	dense := g.dense()
	out, from, to := g.oc*g.out.Size(), g.c*g.out.Size(), g.c*g.in.Size()
	blocks := kernel.CeilDiv(g.n, min(kernel.CeilDiv(stretchPoints, g.out.Size()), kernel.CeilDiv(g.n, p.Threads())))
	images := kernel.CeilDiv(g.n, blocks)
	blocks = kernel.CeilDiv(g.n, images)
	d := newDense(&dense, dy, nil)
	d.setDense(&dense, w, scratch)
	if d.a == nil && blocks > 1 {
		d.packAll(p, scratch)
	}
	within := p.Serial()
	if blocks < p.Threads() {
		p, within = within, p
	}
	points := kernel.Take(scratch, min(blocks, p.Threads())*images*from)
	p.Run(blocks, func(worker, i int) {
		first := i * images
		n := min(images, g.n-first)
		b := *d
		b.n, b.x, b.y = n, dy[first*out:][:n*out], points[worker*images*from:][:n*from]
		part := dx[first*to:][:n*to]
		b.after = part
		b.run(within, scratch)
		within.Range(n*g.c, max(1, kernel.ElementGrain/(to/g.c)), func(lo, hi int) {
			put(hi-lo, g.out[1], g.out[2], b.y[lo*from/g.c:hi*from/g.c], part[lo*to/g.c:hi*to/g.c])
		})
	})
}

// stretch makes rows of n elements of planes, all of which are contiguous, twice as many of twice as many, with a 0 after
// each and a row of them under each row.
func stretch[T kernel.Float](planes, rows, n int, src, dst []T) {
	_, _ = src[planes*rows*n-1], dst[4*planes*rows*n-1]
	stretchRows(planes*rows, n, &kernel.Float32s(src)[0], &kernel.Float32s(dst)[0])
}

// addStretch is stretch, but adds to dst.
func addStretch[T kernel.Float](planes, rows, n int, src, dst []T) {
	_, _ = src[planes*rows*n-1], dst[4*planes*rows*n-1]
	addStretched(planes*rows, n, &kernel.Float32s(src)[0], &kernel.Float32s(dst)[0])
}
