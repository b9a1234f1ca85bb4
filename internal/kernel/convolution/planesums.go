package convolution

import "github.com/graft-ml/graft/internal/kernel"

// planeSums is the gradient with respect to the weights of a convolution that planesFit: nine sums for each channel of dy.
func planeSums(p *kernel.Pool, g *geometry, x, dy, dw []float32) {
	d, in, out := planSteps(g, true), g.in.Size(), g.out.Size()
	f := planeSumsY1
	switch {
	case kernel.AVX512 && d.stride[2] == 1:
		f = planeSumsZ1
	case kernel.AVX512:
		f = planeSumsZ2
	case d.stride[2] == 2:
		f = planeSumsY2
	}
	x, dy, dw = x[:g.n*g.c*in], dy[:g.n*g.oc*out], dw[:g.oc*9]
	p.Range(g.oc, PlaneGrain(9*g.n*out), func(lo, hi int) {
		clear(dw[lo*9 : hi*9])
		for c := lo; c < hi; c++ {
			f(g.n, &d.steps[0].from, len(d.steps), &d.masks[0], &x[c/g.og*in], 4*d.down*d.in[2], 4*g.c*in, &dy[c*out], 4*g.oc*out, &dw[c*9])
		}
	})
}
