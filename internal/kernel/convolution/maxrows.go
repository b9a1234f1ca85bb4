package convolution

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// NoTap is the tap of the maximum of an empty window.
const NoTap = 255

// MaxWindows computes the maxima of the windows of s, the shape of a depthwise convolution, by assembly of tapGroup: of
// x [N, C, In…] to y [N, C, Out…]. Each may be nil: index gets the flat positions in x, -1 for an empty window; taps which point
// of its window a maximum is, noTap for an empty window.
func MaxWindows(p *kernel.Pool, s *Shape, x, y []float32, index []int64, taps []uint8) {
	g := s.geometry()
	if index == nil && planesFit(&g) {
		maxPlanes(p, &g, x, y, taps)
		return
	}
	maxRows(p, &g, x, y, index, taps)
}

// maxRows is maxWindows for all shapes: the planes are laid out as for a depthwise convolution, in a border of -Inf.
func maxRows(p *kernel.Pool, g *geometry, x, y []float32, index []int64, taps8 []uint8) {
	taps := g.taps()
	b := border(g.in, g.out, g.stride, taps)
	in, out := g.in.Size(), g.out.Size()
	some, most := rowsAtOnce(g.out[2], len(taps)), pointsAtOnce(len(taps))
	p.Range(g.n*g.c, PlaneGrain(4*out*len(taps)), func(lo, hi int) {
		buffer := kernel.Borrow[float32](b.size() + out)
		defer kernel.GiveBack(buffer)
		pace := p.Pace()
		plane, which := (*buffer)[:b.size()], kernel.Int32s((*buffer)[b.size():][:out])
		elementwise.Fill(p, plane, float32(math.Inf(-1)))
		for i := lo; i < hi; i++ {
			borderLoad(p, &b, x[i*in:][:in], plane)
			to := y[i*out:][:out]
			for z := range g.out[0] {
				for r := 0; r < g.out[1]; r += some {
					at, from := (z*g.out[1]+r)*g.out[2], b.row(z, r, g.stride)
					for c := 0; c < g.out[2]; c += most {
						p.Check()
						tapMax(min(some, g.out[1]-r), min(most, g.out[2]-c), &plane[from+c], g.stride[1]*b.pitch*4,
							len(taps), &b.offset[0], &to[at+c], &which[at+c], g.out[2]*4)
					}
				}
			}
			if index != nil {
				maxIndex(p, g, taps, which, int64(i*in), index[i*out:][:out])
			}
			if taps8 != nil {
				to := taps8[i*out:][:out]
				for o, t := range which {
					pace.Did(1)
					if t < 0 { // -Inf everywhere
						t = g.firstInside(g.from(o), taps)
					}
					to[o] = uint8(t)
				}
			}
		}
	})
}

// maxIndex converts numbers of taps to positions in x.
func maxIndex(p *kernel.Pool, g *geometry, taps []Triple, which []int32, base int64, index []int64) {
	flat, pace := make([]int64, len(taps)), p.Pace()
	for t, v := range taps {
		flat[t] = base + int64((v[0]*g.in[1]+v[1])*g.in[2]+v[2])
	}
	step := int64(g.stride[2])
	for r := range g.out[0] * g.out[1] {
		pace.Did(g.out[2])
		z, y := r/g.out[1]*g.stride[0], r%g.out[1]*g.stride[1]
		row := int64((z*g.in[1] + y) * g.in[2])
		to := index[r*g.out[2]:][:g.out[2]]
		for x, t := range which[r*g.out[2]:][:g.out[2]] {
			if t < 0 { // -Inf everywhere
				t = g.firstInside(Triple{z, y, x * g.stride[2]}, taps)
			}
			if to[x] = -1; t >= 0 {
				to[x] = row + flat[t]
			}
			row += step
		}
	}
}

// from is where the window of an output point begins.
func (g *geometry) from(o int) Triple {
	x, y, z := o%g.out[2], o/g.out[2]%g.out[1], o/g.out[2]/g.out[1]
	return Triple{z * g.stride[0], y * g.stride[1], x * g.stride[2]}
}

// firstInside returns the first tap that reads inside of x, -1 if none does.
func (g *geometry) firstInside(from Triple, taps []Triple) int32 {
	for t, tap := range taps {
		inside := true
		for d := range 3 {
			inside = inside && from[d]+tap[d] >= 0 && from[d]+tap[d] < g.in[d]
		}
		if inside {
			return int32(t)
		}
	}
	return -1
}
