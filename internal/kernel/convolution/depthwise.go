package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// Depthwise convolution: every output channel reads one input channel. A plane of the input is
// copied with a border of zeros, its columns sorted by their remainder modulo the stride, so that
// each tap reads a contiguous row.

// planar reports whether the forward pass computes one plane after another; with many output channels
// for each input channel the matrix product is faster.
func (g *geometry) planar() bool {
	return g.cg == 1 && (g.og < 4 || !kernel.Has(kernel.ConvGroup) && g.og <= matmul.NR)
}

// bordered is the layout of a plane copied with borders.
type bordered struct {
	in, origin, extent Triple // extent of the copy in input points; offset of its origin before the first input point
	stride             int    // stride of the innermost dimension
	width, pitch       int    // width of one remainder class, and of a row of all classes
	offset             []int  // offset of each tap from the start of an output row
}

// border computes the layout of the copy for a grid of outputs with the given strides and taps.
func border(in, grid, stride Triple, taps []Triple) bordered {
	lo, hi := taps[0], taps[0]
	for _, t := range taps {
		for d := range 3 {
			lo[d], hi[d] = min(lo[d], t[d]), max(hi[d], t[d])
		}
	}
	b := bordered{in: in, stride: stride[2]}
	for d := range 3 {
		b.origin[d] = -lo[d]
		b.extent[d] = (grid[d]-1)*stride[d] + hi[d] - lo[d] + 1
	}
	b.width = kernel.CeilDiv(b.extent[2], b.stride)
	b.pitch = b.width * b.stride
	for _, t := range taps {
		x := t[2] - lo[2]
		b.offset = append(b.offset, ((t[0]-lo[0])*b.extent[1]+t[1]-lo[1])*b.pitch+x%b.stride*b.width+x/b.stride)
	}
	return b
}

func (b *bordered) size() int { return b.extent[0] * b.extent[1] * b.pitch }

// row returns the offset from which the taps of output row (z, y) read.
func (b *bordered) row(z, y int, stride Triple) int {
	return (z*stride[0]*b.extent[1] + y*stride[1]) * b.pitch
}

// borderLoad copies a plane into dst, whose border is already 0.
func borderLoad[T kernel.Float](p *kernel.Pool, b *bordered, plane, dst []T) {
	pace := p.Pace()
	for z := max(0, -b.origin[0]); z < min(b.in[0], b.extent[0]-b.origin[0]); z++ {
		for y := max(0, -b.origin[1]); y < min(b.in[1], b.extent[1]-b.origin[1]); y++ {
			src := plane[(z*b.in[1]+y)*b.in[2]:][:b.in[2]]
			d := dst[((z+b.origin[0])*b.extent[1]+y+b.origin[1])*b.pitch:][:b.pitch]
			x0, x1 := max(0, -b.origin[2]), min(b.in[2], b.extent[2]-b.origin[2])
			if b.stride == 1 {
				if x0 < x1 {
					pace.Did(x1 - x0)
					kernel.Copy(p, d[x0+b.origin[2]:][:x1-x0], src[x0:x1])
				}
				continue
			}
			class, at := (x0+b.origin[2])%b.stride, (x0+b.origin[2])/b.stride
			if b.stride == 2 && x1-x0 >= matmul.NR && kernel.IsFloat32[T]() && kernel.Has(kernel.TapGroup) {
				// The class of the first column is at d[class*width+at:]; the others are at the same offset of their
				// class, or one further where the class index wraps around.
				for x1-x0 >= matmul.NR {
					n := min(x1-x0, 1<<16) / matmul.NR
					pace.Did(matmul.NR * n)
					first, second := d[class*b.width+at:], d[(1-class)*b.width+at+class:]
					_, _ = first[8*n-1], second[8*n-1]
					split2(n, &kernel.Float32s(src)[x0], &kernel.Float32s(first)[0], &kernel.Float32s(second)[0])
					x0 += matmul.NR * n
					at += 8 * n
				}
			}
			for x0 < x1 {
				part := src[x0:min(x0+1<<16, x1)]
				pace.Did(len(part))
				for _, v := range part {
					d[class*b.width+at] = v
					if class++; class == b.stride {
						class, at = 0, at+1
					}
				}
				x0 += len(part)
			}
		}
	}
}

// pointsAtOnce returns the number of points of a long row, with the given number of taps, that take about a millisecond.
func pointsAtOnce(taps int) int { return max(64, 16*kernel.CheckEvery/max(1, taps)) }

// rowsAtOnce returns the number of rows of n points, with the given number of taps, that take about a millisecond.
func rowsAtOnce(n, taps int) int { return max(1, 16*kernel.CheckEvery/max(1, n*taps)) }

// tapRows computes rows output rows of n points: y[i] = bias + Σ w[t]*x[offset[t]+i].
// xRow and yRow are the row strides.
func tapRows[T kernel.Float](p *kernel.Pool, rows, n int, x []T, xRow int, offset []int, w []T, bias *T, y []T, yRow int) {
	if rows <= 0 || n <= 0 {
		return
	}
	if most := rowsAtOnce(n, len(offset)); rows > most {
		for r := 0; r < rows; r += most {
			p.Check()
			tapRows(p, min(most, rows-r), n, x[r*xRow:], xRow, offset, w, bias, y[r*yRow:], yRow)
		}
		return
	}
	for most := pointsAtOnce(len(offset)); n > most; n, x, y = n-most, x[most:], y[most:] { // of one row
		tapRows(p, rows, most, x, xRow, offset, w, bias, y, yRow)
		p.Check()
	}
	y = y[:(rows-1)*yRow+n]
	if kernel.IsFloat32[T]() && kernel.Has(kernel.TapGroup) {
		tapsRows(rows, n, &kernel.Float32s(x)[0], xRow*4, len(offset), &offset[0], &kernel.Float32s(w)[0], &kernel.Float32s(y)[0], yRow*4, kernel.Float32Pointer(bias))
		return
	}
	for r := range rows {
		xr, yr := x[r*xRow:], y[r*yRow:][:n]
		for i := range yr {
			s := *bias
			for t, o := range offset {
				s += w[t] * xr[o+i]
			}
			yr[i] = s
		}
	}
}

// addTapDots adds Σ x[offset[t]+i]*y[i] over rows of n points to dw[t].
func addTapDots[T kernel.Float](p *kernel.Pool, rows, n int, x []T, xRow int, offset []int, dw, y []T, yRow int) {
	if rows <= 0 || n <= 0 {
		return
	}
	if most := 16 * rowsAtOnce(n, len(offset)); rows > most {
		for r := 0; r < rows; r += most {
			p.Check()
			addTapDots(p, min(most, rows-r), n, x[r*xRow:], xRow, offset, dw, y[r*yRow:], yRow)
		}
		return
	}
	for most := 16 * pointsAtOnce(len(offset)); n > most; n, x, y = n-most, x[most:], y[most:] { // of one row
		addTapDots(p, rows, most, x, xRow, offset, dw, y, yRow)
		p.Check()
	}
	y = y[:(rows-1)*yRow+n]
	if kernel.IsFloat32[T]() && kernel.Has(kernel.TapGroup) {
		tapDots(rows, n, &kernel.Float32s(x)[0], xRow*4, len(offset), &offset[0], &kernel.Float32s(dw)[0], &kernel.Float32s(y)[0], yRow*4)
		return
	}
	for r := range rows {
		row := y[r*yRow:][:n]
		for t, o := range offset {
			dw[t] += vector.BlockDot(x[r*xRow+o:][:n], row)
		}
	}
}

// PlaneGrain returns the number of planes, of work multiply-adds each, for which another thread pays off.
func PlaneGrain(work int) int { return max(1, 1<<15/max(work, 1)) }

func depthwiseForward[T kernel.Float](p *kernel.Pool, g *geometry, x, w, bias []T, relu bool, y []T) {
	taps := g.taps()
	b := border(g.in, g.out, g.stride, taps)
	in, out := g.in.Size(), g.out.Size()
	p.Range(g.n*g.oc, PlaneGrain(out*len(taps)), func(lo, hi int) {
		buffer := kernel.Borrow[T](b.size() + 1)
		defer kernel.GiveBack(buffer)
		plane, zero := (*buffer)[1:][:b.size()], &(*buffer)[0]
		*zero = 0
		kernel.Clear(p, plane)
		loaded := -1
		for i := lo; i < hi; i++ {
			n, o := i/g.oc, i%g.oc
			add := zero
			if bias != nil {
				add = &bias[o]
			}
			if from := n*g.c + o/g.og; from != loaded {
				borderLoad(p, &b, x[from*in:][:in], plane)
				loaded = from
			}
			yo := y[i*out:][:out]
			for z := range g.out[0] {
				tapRows(p, g.out[1], g.out[2], plane[b.row(z, 0, g.stride):], g.stride[1]*b.pitch, b.offset,
					w[o*len(taps):][:len(taps)], add, yo[z*g.out[1]*g.out[2]:], g.out[2])
			}
			if relu {
				p.InParts(out, func(lo, hi int) { elementwise.ReluInto(yo[lo:hi], yo[lo:hi]) })
			}
		}
	})
}

func depthwiseBackwardData[T kernel.Float](p *kernel.Pool, g *geometry, phases []phase, dy, w, dx []T) {
	in, out, ker := g.in.Size(), g.out.Size(), g.ker.Size()
	p.Range(g.n*g.c, PlaneGrain(out*ker*g.og), func(lo, hi int) {
		for i := range phases {
			ph := &phases[i]
			if len(ph.taps) == 0 {
				continue
			}
			b := border(g.out, ph.grid, Triple{1, 1, 1}, ph.taps)
			buffer := kernel.Borrow[T](1 + b.size() + ker + ph.grid[1]*ph.grid[2])
			zero, rest := &(*buffer)[0], (*buffer)[1:]
			*zero = 0
			plane, weights, rows := rest[:b.size()], rest[b.size():][:len(ph.taps)], rest[b.size()+ker:]
			kernel.Clear(p, plane)
			for c := lo; c < hi; c++ {
				n, ci := c/g.c, c%g.c
				for o := range g.og {
					oc := ci*g.og + o
					for q, k := range ph.kernel {
						weights[q] = w[oc*ker+k]
					}
					borderLoad(p, &b, dy[(n*g.oc+oc)*out:][:out], plane)
					phasePlane(p, g, ph, &b, plane, weights, zero, rows, o > 0, dx[c*in:][:in])
				}
			}
			kernel.GiveBack(buffer)
		}
	})
}

// phasePlane computes the points of a phase in one plane of dx, or adds to them.
func phasePlane[T kernel.Float](p *kernel.Pool, g *geometry, ph *phase, b *bordered, plane, weights []T, zero *T, rows []T, add bool, dx []T) {
	width, pace := ph.grid[2], p.Pace()
	for z := range ph.grid[0] {
		src := plane[b.row(z, 0, Triple{1, 1, 1}):]
		d := dx[((ph.first[0]+z*g.stride[0])*g.in[1]+ph.first[1])*g.in[2]+ph.first[2]:]
		if g.stride[2] == 1 && !add {
			tapRows(p, ph.grid[1], width, src, b.pitch, b.offset, weights, zero, d, g.stride[1]*g.in[2])
			continue
		}
		tapRows(p, ph.grid[1], width, src, b.pitch, b.offset, weights, zero, rows, width)
		for y := range ph.grid[1] {
			to := d[y*g.stride[1]*g.in[2]:]
			for q, v := range rows[y*width:][:width] {
				pace.Did(g.stride[2])
				at := q * g.stride[2]
				if add {
					v += to[at]
				}
				to[at] = v
			}
		}
	}
}

func depthwiseBackwardWeight[T kernel.Float](p *kernel.Pool, g *geometry, x, dy, dw []T) {
	taps := g.taps()
	b := border(g.in, g.out, g.stride, taps)
	in, out := g.in.Size(), g.out.Size()
	p.Range(g.oc, PlaneGrain(g.n*out*len(taps)), func(lo, hi int) {
		buffer := kernel.Borrow[T](b.size())
		defer kernel.GiveBack(buffer)
		plane := (*buffer)[:b.size()]
		kernel.Clear(p, plane)
		clear(dw[lo*len(taps) : hi*len(taps)])
		for first := lo; first < hi; {
			ci := first / g.og
			last := min(hi, (ci+1)*g.og) // the output channels of one input channel
			for n := range g.n {
				borderLoad(p, &b, x[(n*g.c+ci)*in:][:in], plane)
				for o := first; o < last; o++ {
					src := dy[(n*g.oc+o)*out:][:out]
					for z := range g.out[0] {
						addTapDots(p, g.out[1], g.out[2], plane[b.row(z, 0, g.stride):], g.stride[1]*b.pitch, b.offset,
							dw[o*len(taps):][:len(taps)], src[z*g.out[1]*g.out[2]:], g.out[2])
					}
				}
			}
			first = last
		}
	})
}
