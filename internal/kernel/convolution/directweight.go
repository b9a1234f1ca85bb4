package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
)

// directWeight computes dw from x and dy.
func directWeight[T kernel.Float](p *kernel.Pool, g *geometry, x, dy, dw []T, scratch func(n int) []T) {
	in, out, taps := g.in.Size(), g.out.Size(), g.taps()
	k := g.cg * len(taps)
	s := &weightSums[T]{
		pool: p, n: g.n, inputs: g.cg, columns: g.og, in: g.in, grid: g.out, stride: g.stride, taps: taps,
		x: x, b: dy, imageX: g.c * in, imageB: g.oc * out, groupX: g.cg * in, groupB: g.og * out,
	}
	threads := p.Threads()
	alone := g.groups > 1 && g.groups >= threads // enough groups: one thread for each
	if alone {
		threads = 1
	}
	s.plan(threads)
	sparse := stride2[T](g)
	swapped := (s.flat || sparse) && g.cg < g.og // transpose the operand that has fewer channels
	if swapped {
		s.x, s.imageX, s.groupX, s.inputs, s.b, s.imageB, s.groupB, s.columns = s.b, s.imageB, s.groupB, g.og, s.x, s.imageX, s.groupX, g.cg
		if sparse {
			s.stride2, s.in, s.stride = g.in, g.out, Triple{1, 1, 1}
		}
		s.plan(threads)
	}
	size, asItIs := s.height()*s.width(), swapped && s.width() == k
	var shared []T
	if !alone && !asItIs {
		shared = kernel.Take(scratch, size)
	}
	eachGroup(p, g.groups, func(p *kernel.Pool, i int) {
		to, sum := dw[i*g.og*k:][:g.og*k], shared
		if asItIs {
			s.run(p, i, to, scratch)
			return
		}
		if alone {
			buffer := kernel.Borrow[T](size)
			defer kernel.GiveBack(buffer)
			sum = *buffer
		}
		s.run(p, i, sum, scratch)
		if !swapped {
			transposeSums(p, k, s.width(), g.og, sum, to)
			return
		}
		p.Range(g.og, max(1, kernel.ElementGrain/k), func(lo, hi int) {
			for o := lo; o < hi; o++ {
				copy(to[o*k:][:k], sum[o*s.width():])
			}
		})
	})
}

// partialSums is the maximum number of elements for which each thread has a separate sum.
const partialSums = 1 << 19

// run computes the sum of a group with all threads.
func (s *weightSums[T]) run(p *kernel.Pool, group int, sum []T, scratch func(n int) []T) {
	t := p.Threads()
	size := s.height() * s.width()
	if t == 1 || s.inputs*len(s.taps)*s.columns*s.n*s.grid.Size() < matmul.SmallProduct {
		s.add(group, 0, s.cacheBlocks, 0, s.inputs, sum)
		return
	}
	even := s.cacheBlocks%t == 0 || s.cacheBlocks >= 8*t
	if s.cacheBlocks >= t && (size <= partialSums && even || s.inputs < 2*weightRows*t) {
		partial := kernel.Take(scratch, (t-1)*size)
		p.Run(t, func(_, i int) {
			to := sum
			if i > 0 {
				to = partial[(i-1)*size:][:size]
			}
			s.add(group, i*s.cacheBlocks/t, (i+1)*s.cacheBlocks/t, 0, s.inputs, to)
		})
		p.Range(size, kernel.ElementGrain, func(lo, hi int) {
			for i := range t - 1 {
				elementwise.BinaryInto(elementwise.OpAdd, sum[lo:hi], sum[lo:hi], partial[i*size+lo:][:hi-lo])
			}
		})
		return
	}
	// Divide the channels only where a block of the kernel's rows starts.
	taps, parts := len(s.taps), min(t, s.inputs)
	at := func(i int) int { return i * s.inputs / parts / weightRows * weightRows }
	p.Run(parts, func(_, i int) {
		lo, hi := at(i), at(i+1)
		if i == parts-1 {
			hi = s.inputs
		}
		if lo < hi {
			s.add(group, 0, s.cacheBlocks, lo, hi, sum[lo*taps*s.width():])
		}
	})
}

// transposeSums transposes the first cols columns of rows × width sums.
func transposeSums[T kernel.Float](p *kernel.Pool, rows, width, cols int, src, dst []T) {
	p.Range(kernel.CeilDiv(rows, 8), max(1, kernel.ElementGrain/(8*width)), func(lo, hi int) {
		for r := lo * 8; r < min(hi*8, rows); r += 8 {
			transposeRows(min(8, rows-r), cols, src[r*width:], width, dst[r:], rows)
		}
	})
}
