package pooling

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/convolution"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/reduce"
)

// Shape is the shape of a pooling with one to three spatial dimensions: x
// [N, C, In…], y [N, C, Out…]. Output point o looks at the input points
// o*Stride + k*Dilation - PadBegin for k below Kernel. Out is taken as given, so a
// last window may stick out (ceil_mode). Empty Stride, Dilation mean 1, empty pads 0.
type Shape struct {
	N, C                                                int
	In, Kernel, Out, Stride, Dilation, PadBegin, PadEnd []int

	// CountIncludePad makes Average divide by the window points inside of the
	// padded input instead of those inside of the input.
	CountIncludePad bool
}

// window walks over the windows of one plane.
type window struct {
	in, ker, out, stride, dil, pad, padEnd convolution.Triple
}

func (s *Shape) window() window {
	return window{
		convolution.Expand(s.In, 1), convolution.Expand(s.Kernel, 1), convolution.Expand(s.Out, 1),
		convolution.Expand(s.Stride, 1), convolution.Expand(s.Dilation, 1), convolution.Expand(s.PadBegin, 0), convolution.Expand(s.PadEnd, 0),
	}
}

// span returns the part k0 ≤ k < k1 of a kernel dimension that is inside of the input
// at output point o, and the input point that k = 0 would be at.
func (w *window) span(d, o int) (k0, k1, at int) {
	at = o*w.stride[d] - w.pad[d]
	k1 = w.ker[d]
	if at < 0 {
		k0 = kernel.CeilDiv(-at, w.dil[d])
	}
	if over := w.in[d] - at; over <= (k1-1)*w.dil[d] {
		k1 = kernel.CeilDiv(over, w.dil[d])
	}
	return k0, max(k0, k1), at
}

// checkEvery is the number of points of windows after which each checks whether the pool is stopped.
const checkEvery = 4 * kernel.CheckEvery

// listedTaps is the maximum number of taps for which Max lists them: the list of larger windows would take longer than their maxima.
const listedTaps = 1 << 16

// each calls f for every output point o of a plane and parts of the rows of its window: count
// input points from at on, dil apart. A window without points gets no call.
func (w *window) each(p *kernel.Pool, f func(o, at, count int)) {
	o, points := 0, 0
	for z := range w.out[0] {
		z0, z1, za := w.span(0, z)
		for y := range w.out[1] {
			p.Check()
			y0, y1, ya := w.span(1, y)
			for x := range w.out[2] {
				x0, x1, xa := w.span(2, x)
				for kz := z0; kz < z1; kz++ {
					for ky := y0; ky < y1; ky++ {
						row := (za+kz*w.dil[0])*w.in[1] + ya + ky*w.dil[1]
						for from := x0; from < x1; from += checkEvery {
							count := min(x1-from, checkEvery)
							f(o, row*w.in[2]+xa+from*w.dil[2], count)
							if points += count; points >= checkEvery {
								p.Check()
								points = 0
							}
						}
					}
				}
				o++
			}
		}
	}
}

// planes runs f for each (image, channel).
func (s *Shape) planes(p *kernel.Pool, w *window, f func(i int)) {
	p.Range(s.N*s.C, convolution.PlaneGrain(4*w.out.Size()*w.ker.Size()), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			p.Check()
			f(i)
		}
	})
}

// Max computes the maxima of the windows, NaN where a window holds one, -Inf
// where it is empty. index, unless nil, gets for each the flat row-major position
// in x of its first occurrence, -1 for an empty window.
func Max[T kernel.Float](p *kernel.Pool, s *Shape, x, y []T, index []int64) {
	w := s.window()
	in, out := w.in.Size(), w.out.Size()
	if index == nil && w.whole() && in > 0 {
		reduce.Reduce(p, reduce.ReduceMax, s.N*s.C, in, 1, y, x)
		return
	}
	if index == nil && w.in[0] > 1 && out > 0 && in > 0 {
		maxVolume(p, s, &w, x, y)
		return
	}
	if kernel.IsFloat32[T]() && kernel.Has(kernel.TapGroup) && out > 0 && in > 0 && w.ker.Size() <= listedTaps {
		if index == nil && w.quarters() {
			maxQuarters(p, s, &w, kernel.Float32s(x), kernel.Float32s(y), nil)
			return
		}
		convolution.MaxWindows(p, s.convolution(), kernel.Float32s(x), kernel.Float32s(y), index, nil)
		return
	}
	s.planes(p, &w, func(i int) {
		xs, ys := x[i*in:][:in], y[i*out:][:out]
		var at []int64
		if index != nil {
			at = index[i*out:][:out]
		}
		maxPlane(p, &w, xs, ys, at, int64(i*in))
	})
}

func maxPlane[T kernel.Float](p *kernel.Pool, w *window, x, y []T, index []int64, base int64) {
	elementwise.Fill(p, y, T(math.Inf(-1)))
	p.Range(len(index), kernel.ElementGrain, func(lo, hi int) {
		for o := lo; o < hi; o++ {
			index[o] = -1
		}
	})
	step := w.dil[2]
	w.each(p, func(o, at, count int) {
		best, where := y[o], -1
		if index != nil && index[o] < 0 && count > 0 {
			where = at // so that -Inf has a position, too
		}
		for range count {
			if v := x[at]; v > best || v != v && best == best {
				best, where = v, at
			}
			at += step
		}
		if where >= 0 {
			y[o] = best
			if index != nil {
				index[o] = base + int64(where)
			}
		}
	})
}

// MaxGrad sends dy back to the positions that Max wrote to index and sets
// the rest of dx to 0.
func MaxGrad[T kernel.Float](p *kernel.Pool, s *Shape, dy []T, index []int64, dx []T) {
	w := s.window()
	in, out := w.in.Size(), w.out.Size()
	s.planes(p, &w, func(i int) {
		kernel.Clear(p, dx[i*in:][:in])
		p.InParts(out, func(lo, hi int) {
			d := dy[i*out+lo:][:hi-lo]
			for o, at := range index[i*out+lo:][:hi-lo] {
				if at >= 0 {
					dx[at] += d[o]
				}
			}
		})
	})
}

// convolution returns the depthwise convolution with the windows of a pooling.
func (s *Shape) convolution() *convolution.Shape {
	return &convolution.Shape{
		N: s.N, C: s.C, OC: s.C, Group: s.C, In: s.In, Kernel: s.Kernel, Out: s.Out,
		Stride: s.Stride, Dilation: s.Dilation, PadBegin: s.PadBegin, PadEnd: s.PadEnd,
	}
}

// Windows describes s to a convolution that computes the maxima of its result.
func (s *Shape) Windows() convolution.PoolWindows {
	w := s.window()
	return convolution.PoolWindows{
		N: s.N, C: s.C, In: w.in, Kernel: w.ker, Out: w.out, Stride: w.stride, Dilation: w.dil, Pad: w.pad,
		Max: func(in, out, pad [2]int) func(planes int, x, y []float32) {
			band := *s
			band.N, band.In, band.Out, band.PadBegin = 1, in[:], out[:], pad[:]
			return func(planes int, x, y []float32) {
				band.C = planes
				Max(nil, &band, x, y, nil)
			}
		},
	}
}
