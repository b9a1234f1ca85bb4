package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/layout"
	"github.com/graft-ml/graft/internal/kernel/matmul"
)

// BackwardData computes the gradient dx [N, C, In…] of a convolution from dy
// [N, OC, Out…] and w, overwriting dx. It is also the forward pass of ConvTranspose,
// with dy as its input and dx as its output.
func BackwardData[T kernel.Float](p *kernel.Pool, s *Shape, dy, w, dx []T, scratch func(n int) []T) {
	if u, taps, ok := s.trim(); ok {
		BackwardData(p, &u, dy, live(p, s, taps, w, scratch), dx, scratch)
		return
	}
	g := s.geometry()
	if g.swaps() {
		dataSwapped(p, s, dy, w, dx, scratch)
		return
	}
	if list := regionsFor[T](s, &g, winogradDX); list != nil {
		dataRegions(p, &g, list, dy, w, dx, scratch)
		return
	}
	if winogradBackwardData(p, s, dy, w, dx, scratch) {
		return
	}
	if stretches[T](&g) {
		stretchData(p, &g, dy, w, dx, stretch, scratch)
		return
	}
	in, out := g.in.Size(), g.out.Size()
	dx, dy = dx[:g.n*g.c*in], dy[:g.n*g.oc*out]
	if len(dx) == 0 {
		return
	}
	phases := g.phases()
	if kernel.Has(kernel.ConvGroup) && kernel.IsFloat32[T]() && (g.cg > 1 || g.groups == 1 && g.og > 1) && len(dy) > 0 {
		if g.stride.Size() > 1 {
			dataLines(p, &g, dy, w, dx, scratch)
		} else {
			directDense(p, &g, dy, w, dx, scratch)
		}
		return
	}
	for i := range phases {
		if len(phases[i].taps) == 0 || len(dy) == 0 {
			kernel.Clear(p, dx) // no kernel tap reaches these points
			break
		}
	}
	if len(dy) == 0 {
		return
	}
	switch {
	case depthDirect[T]() && g.cg == 1 && g.og == 1:
		depthBackwardData(p, &g, phases, dy, w, dx, scratch)
		return
	case g.cg == 1:
		depthwiseBackwardData(p, &g, phases, dy, w, dx)
		return
	}
	for i := range phases {
		if ph := &phases[i]; len(ph.taps) > 0 {
			backwardPhase(p, &g, ph, dy, w, dx, scratch)
		}
	}
}

// backwardPhase computes the points of one phase of dx; see phase.
func backwardPhase[T kernel.Float](p *kernel.Pool, g *geometry, ph *phase, dy, w, dx []T, scratch func(n int) []T) {
	k := g.og * len(ph.taps)
	if g.ker.Size() == 1 {
		backwardPoint(p, g, ph, dy, w, dx)
		return
	}
	transposed := kernel.Take(scratch, g.c*k) // [kernel.Group][channel][output channel][tap]
	p.Range(g.groups*kernel.CeilDiv(g.cg, weightBlock), max(1, 1<<13/(k*weightBlock)), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			transposeWeights(g, ph, i/kernel.CeilDiv(g.cg, weightBlock), i%kernel.CeilDiv(g.cg, weightBlock)*weightBlock, w, transposed)
		}
	})
	eachGroup(p, g.groups, func(p *kernel.Pool, i int) {
		m := phaseProduct(g, ph, i, k, dy, dx)
		m.A, m.RsA, m.CsA = transposed[i*g.cg*k:][:g.cg*k], k, 1
		m.Run(p)
	})
}

// backwardPoint is backwardPhase for 1×1 kernels, whose weights already form the matrix that it multiplies.
func backwardPoint[T kernel.Float](p *kernel.Pool, g *geometry, ph *phase, dy, w, dx []T) {
	eachGroup(p, g.groups, func(p *kernel.Pool, i int) {
		m := phaseProduct(g, ph, i, g.og, dy, dx)
		m.A, m.RsA, m.CsA = w[i*g.og*g.cg:][:g.og*g.cg], 1, g.cg
		m.Run(p)
	})
}

// phaseProduct returns the product that computes one phase of a group, without its weights.
func phaseProduct[T kernel.Float](g *geometry, ph *phase, group, k int, dy, dx []T) matmul.Product[T] {
	in, out := g.in.Size(), g.out.Size()
	m := matmul.Product[T]{
		M: g.cg, N: g.n * ph.grid.Size(), K: k, Alpha: 1,
		B: &im2col[T]{
			x: dy[group*g.og*out:], channel: out, image: g.oc * out,
			in: g.out, grid: ph.grid, stride: Triple{1, 1, 1}, taps: ph.taps, columns: g.n * ph.grid.Size(),
		},
		C: dx[group*g.cg*in:], LDC: in, Span: in, Image: g.c * in,
		WeightB: 60,
	}
	if g.stride.Size() > 1 {
		m.Where = func(j, cols int, at *[matmul.NR]int) { g.place(ph, j, cols, at) }
	}
	return m
}

// weightBlock is the number of channels that transposeWeights transposes at a time, so that it reads contiguous
// weights. With more, the writes would exceed the associativity of the L1 cache, since the rows of dst are large powers
// of two apart.
const weightBlock = 8

// transposeWeights copies the weights of up to weightBlock channels of a group, from channel c on, as
// [channel][output channel][tap].
func transposeWeights[T kernel.Float](g *geometry, ph *phase, group, c int, w, transposed []T) {
	n, taps, ker := min(weightBlock, g.cg-c), len(ph.kernel), g.ker.Size()
	k := g.og * taps
	for o := range g.og {
		src := w[((group*g.og+o)*g.cg+c)*ker:]
		at := (group*g.cg+c)*k + o*taps
		for range n {
			d := transposed[at:][:taps]
			if taps == ker { // all taps, already in order
				copy(d, src)
			} else {
				for q, point := range ph.kernel {
					d[q] = src[point]
				}
			}
			src, at = src[ker:], at+k
		}
	}
}

// place computes the offsets in dx of the points j to j+cols of a phase.
func (g *geometry) place(ph *phase, j, cols int, at *[matmul.NR]int) {
	per := ph.grid.Size()
	n, r := j/per, j%per
	z, r := r/(ph.grid[1]*ph.grid[2]), r%(ph.grid[1]*ph.grid[2])
	y, x := r/ph.grid[2], r%ph.grid[2]
	for q := range cols {
		row := (ph.first[0]+z*g.stride[0])*g.in[1] + ph.first[1] + y*g.stride[1]
		at[q] = n*g.c*g.in.Size() + row*g.in[2] + ph.first[2] + x*g.stride[2]
		if x++; x < ph.grid[2] {
			continue
		}
		x = 0
		if y++; y < ph.grid[1] {
			continue
		}
		y = 0
		if z++; z < ph.grid[0] {
			continue
		}
		z = 0
		n++
	}
}

// BackwardWeight computes the gradient dw [OC, C/Group, Kernel…] of a
// convolution from x and dy, overwriting dw.
func BackwardWeight[T kernel.Float](p *kernel.Pool, s *Shape, x, dy, dw []T, scratch func(n int) []T) {
	if u, taps, ok := s.trim(); ok {
		g := s.geometry()
		live := kernel.Take(scratch, g.oc*g.cg*taps.size())
		BackwardWeight(p, &u, x, dy, live, scratch)
		scatter(p, taps, g.ker, live, dw[:g.oc*g.k()])
		return
	}
	g := s.geometry()
	if g.swaps() {
		weightSwapped(p, s, x, dy, dw, scratch)
		return
	}
	if regionsFor[T](s, &g, winogradDW) != nil {
		weightRegions(p, &g, x, dy, dw, scratch)
		return
	}
	if winogradBackwardWeight(p, s, x, dy, dw, scratch) {
		return
	}
	in, out := g.in.Size(), g.out.Size()
	taps := g.taps()
	k := g.cg * len(taps)
	x, dy, dw = x[:g.n*g.c*in], dy[:g.n*g.oc*out], dw[:g.oc*k]
	if len(x) == 0 || len(dy) == 0 {
		kernel.Clear(p, dw)
		return
	}
	if g.planar() && depthDirect[T]() {
		depthBackwardWeight(p, &g, x, dy, dw)
		return
	}
	if g.planar() {
		depthwiseBackwardWeight(p, &g, x, dy, dw)
		return
	}
	if kernel.Has(kernel.ConvGroup) && kernel.IsFloat32[T]() {
		directWeight(p, &g, x, dy, dw, scratch)
		return
	}
	// One product per group, (channel, tap) × output channel, with (image, point) as inner dimension, so that dy is
	// transposed and not the im2col matrix.
	transposed := kernel.Take(scratch, g.oc*k)
	parts := 1
	if t := p.Threads(); g.groups < t && k < 64*t && g.n*out >= 256*t {
		parts = t // too few rows to divide among threads: divide the inner dimension
	}
	var partial []T
	if parts > 1 {
		partial = kernel.Take(scratch, (parts-1)*g.og*k)
	}
	eachGroup(p, g.groups, func(p *kernel.Pool, i int) {
		c := transposed[i*g.og*k:][:g.og*k]
		m := matmul.Product[T]{
			M: k, N: g.og, K: g.n * out, Alpha: 1,
			Left: &im2col[T]{
				x: x[i*g.cg*in:], channel: in, image: g.c * in,
				in: g.in, grid: g.out, stride: g.stride, taps: taps, columns: g.n * out,
			},
			B: &imageRows[T]{x: dy[i*g.og*out:], space: out, image: g.oc * out},
			C: c, LDC: g.og, Span: g.og, WeightB: 60,
		}
		if parts == 1 {
			m.Run(p)
		} else {
			m.Split(p, parts, partial)
		}
		transpose(p, k, g.og, c, dw[i*g.og*k:])
	})
}

// transpose writes the rows×cols matrix src transposed to dst [cols, rows].
func transpose[T kernel.Float](p *kernel.Pool, rows, cols int, src, dst []T) {
	layout.Transpose(p, dst[:rows*cols], src[:rows*cols], []int{rows, cols}, []int{1, 0})
}

// imageRows reads dy as a matrix (image, point) × channel.
type imageRows[T kernel.Float] struct {
	x            []T
	space, image int
}

func (s *imageRows[T]) Pack(l, kc, j, je int, dst []T) {
	for ; j < je; j += matmul.NR {
		colPanel := dst[:kc*matmul.NR]
		dst = dst[kc*matmul.NR:]
		for q := 0; q < kc; {
			n, r := (l+q)/s.space, (l+q)%s.space
			cacheBlock := min(kc-q, s.space-r)
			matmul.PackTransposed(cacheBlock, s.x[n*s.image+j*s.space+r:], s.space, min(matmul.NR, je-j), colPanel[q*matmul.NR:])
			q += cacheBlock
		}
	}
}
