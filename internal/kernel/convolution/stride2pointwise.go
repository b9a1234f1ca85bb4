package convolution

import "github.com/graft-ml/graft/internal/kernel"

// 1×1 kernels with stride 2 read only every other point of every other row. These are copied to a dense
// plane, and the convolution of that has stride 1.

// stride2 reports whether a convolution has 1×1 kernels and stride 2.
func stride2[T kernel.Float](g *geometry) bool {
	return kernel.Has(kernel.ConvGroup) && kernel.IsFloat32[T]() && !g.empty() && g.groups == 1 && g.ker.Size() == 1 && g.in[0] == 1 &&
		g.stride == Triple{1, 2, 2} && g.pad == Triple{} && g.out == Triple{1, kernel.CeilDiv(g.in[1], 2), kernel.CeilDiv(g.in[2], 2)}
}

// stretches reports whether the gradient with respect to the input is that of the dense convolution
// with a 0 inserted after each point, and a row of zeros after each row.
func stretches[T kernel.Float](g *geometry) bool {
	return stride2[T](g) && g.in[1] == 2*g.out[1] && g.in[2] == 2*g.out[2]
}

// dense returns the equivalent convolution with stride 1 of the selected points.
func (g *geometry) dense() geometry {
	d := *g
	d.in, d.stride = g.out, Triple{1, 1, 1}
	return d
}

// DataAdds reports whether BackwardDataAdd can compute the gradient with respect to the input of a convolution.
func DataAdds[T kernel.Float](s *Shape) bool {
	g := s.geometry()
	return stretches[T](&g)
}

// BackwardDataAdd adds to dx what BackwardData would set it to: dx += ∂L/∂x. Points whose gradient is 0 are not touched,
// so that this takes less time than computing the gradient and the sum separately.
func BackwardDataAdd[T kernel.Float](p *kernel.Pool, s *Shape, dy, w, dx []T, scratch kernel.Scratch[T]) {
	g := s.geometry()
	stretchData(p, &g, dy, w, dx, addStretch, scratch)
}

// stretchPoints is the approximate number of points of an image that are stored to dx at a time, from a cached block.
const stretchPoints = 512

// stretchData computes the gradient with respect to the input where it stretches: a dense block at a time, which put
// then stores to dx, so that dx is written once and in memory order.
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

// stretch copies contiguous rows of n elements to rows of 2n, with a 0 after each element, and a row of zeros after
// each row.
func stretch[T kernel.Float](planes, rows, n int, src, dst []T) {
	_, _ = src[planes*rows*n-1], dst[4*planes*rows*n-1]
	stretchRows(planes*rows, n, &kernel.Float32s(src)[0], &kernel.Float32s(dst)[0])
}

// addStretch is stretch, but adds src to the elements of dst.
func addStretch[T kernel.Float](planes, rows, n int, src, dst []T) {
	_, _ = src[planes*rows*n-1], dst[4*planes*rows*n-1]
	addStretched(planes*rows, n, &kernel.Float32s(src)[0], &kernel.Float32s(dst)[0])
}
