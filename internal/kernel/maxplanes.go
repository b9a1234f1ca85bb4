package kernel

// maxPlanes is MaxPool for windows that planesFit.
func maxPlanes(p *Pool, g *geometry, x, y []float32) {
	d, in, out := planSteps(g), g.in.size(), g.out.size()
	f := maxPlanesY1
	switch {
	case avx512 && d.stride[2] == 1:
		f = maxPlanesZ1
	case avx512:
		f = maxPlanesZ2
	case d.stride[2] == 2:
		f = maxPlanesY2
	}
	p.Range(g.n*g.oc, planeGrain(4*out), func(lo, hi int) {
		d.each(lo, hi, hi, y, func(i int) int { return hi - i }, func(i, planes int, y []float32) {
			x := x[i*in:][:planes*in]
			f(planes, &d.steps[0].from, len(d.steps), &d.masks[0], &x[0], 4*d.down*d.in[2], 4*in, &y[0], 4*out)
		})
	})
}
