package convolution

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
)

// zeroDilated returns the convolution with stride 1 that computes, from dy with zeros between its rows and columns, the
// gradient with respect to the input of a depthwise convolution with stride 2; false if there is none.
func (g *geometry) zeroDilated() (geometry, bool) {
	t := g.flipped()
	t.in, t.stride = g.in, Triple{1, 1, 1}
	fits := g.stride == Triple{1, 2, 2} && 2*g.out[1]-1 <= g.in[1] && 2*g.out[2]-1 <= g.in[2]
	return t, fits && planesFit(g) && planesFit(&t)
}

// zeroDilatedElements is the number of elements of zero-dilated dy that are processed together: they
// stay in the L1 cache.
const zeroDilatedElements = 1 << 12

// zeroDilatedBackward computes the gradient with respect to the input of g, whose zeroDilated
// convolution is t; w has the weights of g in reverse order.
func zeroDilatedBackward(p *kernel.Pool, g, t *geometry, dy, w, dx []float32) {
	in, out := g.in.Size(), g.out.Size()
	inf := float32(math.Inf(1))
	all := depthPlanes{planeSteps: planSteps(t, false), inputs: g.c, outputs: g.c, planeX: in, w: w, shift: make([]float32, g.c), y: dx, clip: []float32{-inf, inf}}
	batch := max(1, zeroDilatedElements/in)
	rows := []tileRun{{0, g.out[2], 0}}
	p.Range(g.n*g.c, PlaneGrain(9*in), func(lo, hi int) {
		d := all
		size := batch*in + slack
		buffer := kernel.Borrow[float32](size + out + slack)
		defer kernel.GiveBack(buffer)
		x, last := (*buffer)[:size], (*buffer)[size:]
		clear(x)
		for i := lo; i < hi; i += batch {
			end := min(hi, i+batch)
			for c := i; c < end; c++ {
				from := dy[c*out:]
				if len(from) < out+slack { // dy ends before the last vector that is read
					from = last
					copy(from, dy[c*out:][:out])
				}
				spread(g.out[1], from, g.out[2], rows, x[(c-i)*in:], 2*g.in[2], 2)
			}
			d.x, d.first = x, i
			d.run(i, end, hi)
		}
	})
}
