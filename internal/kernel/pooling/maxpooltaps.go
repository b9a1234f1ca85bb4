package pooling

import (
	"math"
	"unsafe"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/convolution"
)

// Taps reports whether the points of a window can be numbered in one byte, as MaxTaps requires.
func (s *Shape) Taps() bool {
	w := s.window()
	return w.ker.Size() < convolution.NoTap
}

// MaxTaps is Max that writes to taps, instead of positions in x, the index of each maximum within its
// window: an eighth of the memory. 255 means an empty window.
func MaxTaps[T kernel.Float](p *kernel.Pool, s *Shape, x, y []T, taps []uint8) {
	w := s.window()
	in, out := w.in.Size(), w.out.Size()
	switch {
	case out == 0 || in == 0 || !kernel.IsFloat32[T]() || !kernel.Has(kernel.TapGroup):
		s.planes(p, &w, func(i int) { maxPlaneTaps(p, &w, x[i*in:][:in], y[i*out:][:out], taps[i*out:][:out]) })
	case w.quarters():
		maxQuarters(p, s, &w, kernel.Float32s(x), kernel.Float32s(y), taps)
	default:
		convolution.MaxWindows(p, s.convolution(), kernel.Float32s(x), kernel.Float32s(y), nil, taps[:s.N*s.C*out])
	}
}

// maxPlaneTaps is MaxTaps for one plane.
func maxPlaneTaps[T kernel.Float](p *kernel.Pool, w *window, x, y []T, taps []uint8) {
	o, pace := 0, p.Pace()
	for z := range w.out[0] {
		z0, z1, za := w.span(0, z)
		for r := range w.out[1] {
			y0, y1, ya := w.span(1, r)
			for c := range w.out[2] {
				x0, x1, xa := w.span(2, c)
				pace.Did((z1 - z0) * (y1 - y0) * (1 + x1 - x0))
				best, tap := T(math.Inf(-1)), convolution.NoTap
				for kz := z0; kz < z1; kz++ {
					for ky := y0; ky < y1; ky++ {
						row := ((za+kz*w.dil[0])*w.in[1] + ya + ky*w.dil[1]) * w.in[2]
						for kx := x0; kx < x1; kx++ {
							v := x[row+xa+kx*w.dil[2]]
							if v > best || v != v && best == best || tap == convolution.NoTap {
								best, tap = v, (kz*w.ker[1]+ky)*w.ker[2]+kx
							}
						}
					}
				}
				y[o], taps[o] = best, uint8(tap)
				o++
			}
		}
	}
}

// MaxTapsGrad adds dy at the points that MaxTaps recorded and sets the rest of dx to 0.
func MaxTapsGrad[T kernel.Float](p *kernel.Pool, s *Shape, dy []T, taps []uint8, dx []T) {
	w := s.window()
	in, out := w.in.Size(), w.out.Size()
	if kernel.IsFloat32[T]() && kernel.SIMD && out > 0 && in > 0 && w.quarters() {
		quartersBack(p, s, &w, kernel.Float32s(dy), taps, kernel.Float32s(dx))
		return
	}
	var offset [convolution.NoTap + 1]int
	for t := range w.ker.Size() {
		x, y, z := t%w.ker[2], t/w.ker[2]%w.ker[1], t/w.ker[2]/w.ker[1]
		offset[t] = (z*w.dil[0]*w.in[1]+y*w.dil[1])*w.in[2] + x*w.dil[2]
	}
	s.planes(p, &w, func(i int) {
		to := dx[i*in:][:in]
		kernel.Clear(p, to)
		o, pace := i*out, p.Pace()
		for z := range w.out[0] {
			for y := range w.out[1] {
				at := ((z*w.stride[0]-w.pad[0])*w.in[1]+y*w.stride[1]-w.pad[1])*w.in[2] - w.pad[2]
				row := dy[o:][:w.out[2]]
				pace.Did(len(row))
				for x, t := range taps[o:][:len(row)] {
					if t != convolution.NoTap {
						to[at+x*w.stride[2]+offset[t]] += row[x]
					}
				}
				o += len(row)
			}
		}
	})
}

// quarters reports whether the windows are 2×2, adjacent and all inside: then each
// output row is computed from two separate input rows.
func (w *window) quarters() bool {
	return kernel.SIMD && w.ker == convolution.Triple{1, 2, 2} && w.stride == convolution.Triple{1, 2, 2} && w.dil[1] == 1 && w.dil[2] == 1 &&
		w.pad == convolution.Triple{} && w.out[0] == w.in[0] && 2*w.out[1] <= w.in[1] && 2*w.out[2] <= w.in[2]
}

// rowPairs calls f for parts of the rows of an output plane, in order, and checks before each part but the first whether p is stopped.
func (w *window) rowPairs(p *kernel.Pool, f func(r, rows int)) {
	step := max(1, checkEvery/max(1, w.out[2]))
	for r := 0; r < w.out[1]; r += step {
		if r > 0 {
			p.Check()
		}
		f(r, min(step, w.out[1]-r))
	}
}

// tapSlack is the number of bytes after the taps of a plane that the assembly may write.
const tapSlack = 8

// tapBuffer returns memory for the taps of a plane and tapSlack.
func tapBuffer(n int) (taps []uint8, release func()) {
	buffer := kernel.Borrow[float32](kernel.CeilDiv(n+tapSlack, 4))
	return unsafe.Slice((*uint8)(unsafe.Pointer(&(*buffer)[0])), n+tapSlack), func() { kernel.GiveBack(buffer) }
}

// maxQuarters is MaxTaps for such windows; taps may be nil.
func maxQuarters(p *kernel.Pool, s *Shape, w *window, x, y []float32, taps []uint8) {
	in, out := w.in.Size(), w.out.Size()
	p.Range(s.N*s.C, convolution.PlaneGrain(4*out), func(lo, hi int) {
		if taps == nil {
			for i := lo; i < hi; i++ {
				maxQuartersPlane(p, w, x[i*in:][:in], y[i*out:][:out], nil)
			}
			return
		}
		spare, release := tapBuffer(out)
		defer release()
		for i := lo; i < hi; i++ {
			// Bytes written after a plane are overwritten by the next one, if the same worker computes it.
			if i < hi-1 && out >= tapSlack {
				maxQuartersPlane(p, w, x[i*in:][:in], y[i*out:][:out], taps[i*out:])
				continue
			}
			maxQuartersPlane(p, w, x[i*in:][:in], y[i*out:][:out], spare)
			copy(taps[i*out:][:out], spare)
		}
	})
}

// maxQuartersPlane is maxQuarters for one plane; it writes up to tapSlack bytes after the taps.
func maxQuartersPlane(p *kernel.Pool, w *window, x, y []float32, taps []uint8) {
	for z := range w.out[0] {
		w.rowPairs(p, func(r, rows int) {
			at := (z*w.out[1] + r) * w.out[2]
			from, to := &x[(z*w.in[1]+2*r)*w.in[2]], &y[at]
			if taps == nil {
				max2x2Alone(rows, w.out[2], from, w.in[2]*4, to)
			} else {
				max2x2(rows, w.out[2], from, w.in[2]*4, to, &taps[at])
			}
		})
	}
}

// quartersBack is MaxTapsGrad for such windows.
func quartersBack(p *kernel.Pool, s *Shape, w *window, dy []float32, taps []uint8, dx []float32) {
	in, out := w.in.Size(), w.out.Size()
	complete := 2*w.out[1] == w.in[1] && 2*w.out[2] == w.in[2]
	p.Range(s.N*s.C, convolution.PlaneGrain(4*out), func(lo, hi int) {
		spare, release := tapBuffer(out)
		defer release()
		for i := lo; i < hi; i++ {
			if !complete {
				kernel.Clear(p, dx[i*in:][:in])
			}
			from := taps[i*out:]
			if len(from) < out+tapSlack {
				copy(spare, from[:out])
				from = spare
			}
			for z := range w.out[0] {
				w.rowPairs(p, func(r, rows int) {
					at := (z*w.out[1] + r) * w.out[2]
					max2x2Back(rows, w.out[2], &dy[i*out+at], &from[at], &dx[i*in+(z*w.in[1]+2*r)*w.in[2]], w.in[2]*4)
				})
			}
		}
	})
}
