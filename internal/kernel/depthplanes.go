package kernel

import "math"

// turned is the convolution with stride 1 that computes the gradient by data of one with a kernel for
// each channel; its weights are those in reverse order.
func (g *geometry) turned() geometry {
	t := *g
	t.in, t.out = g.out, g.in
	for i := range t.pad {
		t.pad[i] = g.dil[i]*(g.ker[i]-1) - g.pad[i]
	}
	return t
}

// turnedPoints is the weights of each channel in reverse order.
func turnedPoints[T Float](channels, points int, w []T, scratch Scratch[T]) []T {
	t := take(scratch, channels*points)
	for c := range channels {
		for i := range points {
			t[c*points+i] = w[(c+1)*points-1-i]
		}
	}
	return t
}

// depthPlanes is a depthwise 3×3 convolution plane by plane.
type depthPlanes struct {
	*planeSteps
	inputs, outputs int // all channels
	first           int // the plane that x begins with
	x, w, shift, y  []float32
	clip            []float32
}

// depthPlanesForward computes y = conv(x, w), finished as e says, for shapes that planesFit.
func depthPlanesForward[T Float](p *Pool, g *geometry, x, w []T, e Epilogue[T], y []T, scratch Scratch[T]) {
	out := g.out.size()
	if e.Scale != nil {
		scaled := take(scratch, 9*g.oc)
		scaleChannels(9, w, e.Scale, scaled)
		w = scaled
	}
	shift := e.Shift
	if shift == nil {
		shift = take(scratch, g.oc)
		clear(shift)
	}
	clip, later := e.bounds()
	rest := Epilogue[T]{Add: e.Add, Act: later}
	if e.Add != nil {
		clip, rest.Act = nil, e.Act
	}
	if clip == nil {
		inf := T(math.Inf(1))
		clip = &[2]T{-inf, inf}
	}
	d := depthPlanes{planSteps(g, false), g.c, g.oc, 0, as32(x), as32(w), as32(shift), as32(y), as32(clip[:])}
	p.Range(g.n*g.oc, planeGrain(9*out), func(lo, hi int) {
		if rest.none() {
			d.run(lo, hi, hi)
			return
		}
		for i := lo; i < hi; i++ { // what is left finds the plane in a cache
			d.run(i, i+1, hi)
			rest.row(y[i*out:][:out], i%g.oc, i*out)
		}
	})
}

// run computes the planes lo to hi of all images; those up to end are to come.
func (d *depthPlanes) run(lo, hi, end int) {
	multiple := d.outputs / d.inputs
	in := d.in.size()
	d.each(lo, hi, end, func(i int) int {
		if multiple > 1 {
			return 1
		}
		return d.outputs - i%d.outputs // up to the end of the image
	}, func(i, planes int, apart bool) {
		c, out := i%d.outputs, d.out.size()
		x, y := d.x[(i/d.outputs*d.inputs+c/multiple-d.first)*in:], d.y[i*out:][:planes*out]
		if !apart {
			d.call(planes, x, d.w[9*c:], d.shift[c:], y)
			return
		}
		buffer := borrow[float32](planes*out + tileLanes())
		d.call(planes, x, d.w[9*c:], d.shift[c:], *buffer)
		copy(y, *buffer)
		giveBack(buffer)
	})
}

// call computes planes that follow one another.
func (d *depthPlanes) call(planes int, x, w, shift, y []float32) {
	in, out := d.in.size(), d.out.size()
	_, _, _, _ = x[planes*in-1], w[9*planes-1], shift[planes-1], y[planes*out-1]
	f := depthPlanesY1
	switch {
	case avx512 && d.stride[2] == 1:
		f = depthPlanesZ1
	case avx512:
		f = depthPlanesZ2
	case d.stride[2] == 2:
		f = depthPlanesY2
	}
	f(planes, &d.steps[0].from, len(d.steps), &d.masks[0], &x[0], 4*d.down*d.in[2], 4*in, &y[0], 4*out, &w[0], &shift[0], &d.clip[0])
}
