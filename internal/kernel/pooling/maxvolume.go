package pooling

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/convolution"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// maxVolume is Max with three spatial dimensions: the planes of each channel are pooled one by one, and the results
// of those that a window reaches are compared.
func maxVolume[T kernel.Float](p *kernel.Pool, s *Shape, w *window, x, y []T) {
	flat := Shape{
		N: 1, C: w.in[0], In: w.in[1:], Kernel: w.ker[1:], Out: w.out[1:],
		Stride: w.stride[1:], Dilation: w.dil[1:], PadBegin: w.pad[1:], PadEnd: w.padEnd[1:],
	}
	in, out, plane := w.in.Size(), w.out.Size(), w.out[1]*w.out[2]
	p.Range(s.N*s.C, convolution.PlaneGrain(4*in), func(lo, hi int) {
		buffer := kernel.Borrow[T](w.in[0] * plane)
		defer kernel.GiveBack(buffer)
		pooled := (*buffer)[:w.in[0]*plane]
		for i := lo; i < hi; i++ {
			Max(p.Serial(), &flat, x[i*in:][:in], pooled, nil)
			for z := range w.out[0] {
				p.Check()
				to := y[i*out+z*plane:][:plane]
				from, end, at := w.span(0, z)
				if from == end {
					elementwise.Fill(nil, to, T(math.Inf(-1)))
					continue
				}
				copy(to, pooled[(at+from*w.dil[0])*plane:])
				for k := from + 1; k < end; k++ {
					elementwise.BinaryInto(elementwise.OpMax, to, to, pooled[(at+k*w.dil[0])*plane:][:plane])
				}
			}
		}
	})
}
