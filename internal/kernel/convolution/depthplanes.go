package convolution

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// flipped returns the convolution with stride 1 that computes the gradient of a depthwise convolution
// with respect to its input; its weights are those of g in reverse order.
func (g *geometry) flipped() geometry {
	t := *g
	t.in, t.out = g.out, g.in
	for i := range t.pad {
		t.pad[i] = g.dil[i]*(g.ker[i]-1) - g.pad[i]
	}
	return t
}

// flippedPoints returns the weights of each channel in reverse order.
func flippedPoints[T kernel.Float](channels, points int, w []T, scratch kernel.Scratch[T]) []T {
	t := kernel.Take(scratch, channels*points)
	for c := range channels {
		for i := range points {
			t[c*points+i] = w[(c+1)*points-1-i]
		}
	}
	return t
}

// depthPlanes is a depthwise convolution of 3×3 or 5×5 plane by plane.
type depthPlanes struct {
	*planeSteps
	inputs, outputs int // all channels
	first, planeX   int // first plane of x, and stride between planes of x
	x, w, shift, y  []float32
	clip            []float32
}

// newDepthPlanes returns a convolution without x and y. It applies the epilogue e, which has no scale and a separate
// shift, except for the activation that it returns, which is the same for all channels.
func newDepthPlanes(s *planeSteps, inputs, outputs int, w, shift []float32, e elementwise.Epilogue[float32]) (depthPlanes, elementwise.Epilogue[float32]) {
	clip, later := e.Bounds()
	rest := elementwise.Epilogue[float32]{Add: e.Add, Act: later}
	if e.Add != nil {
		clip, rest.Act = nil, e.Act
	}
	if clip == nil {
		inf := float32(math.Inf(1))
		clip = &[2]float32{-inf, inf}
	}
	return depthPlanes{planeSteps: s, inputs: inputs, outputs: outputs, planeX: s.in.Size(), w: w, shift: shift, clip: clip[:]}, rest
}

// depthPlanesForward computes y = conv(x, w) with the epilogue e, for shapes that windowsFit.
func depthPlanesForward[T kernel.Float](p *kernel.Pool, g *geometry, x, w []T, e elementwise.Epilogue[T], y []T, scratch kernel.Scratch[T]) {
	out := g.out.Size()
	w, shift := depthAffine(g, w, e, scratch)
	d, rest := newDepthPlanes(planSteps(g, false), g.c, g.oc, kernel.Float32s(w), kernel.Float32s(shift), elementwise.Epilogue[float32]{Add: kernel.Float32s(e.Add), Act: e.Act})
	d.x, d.y = kernel.Float32s(x), kernel.Float32s(y)
	p.Range(g.n*g.oc, PlaneGrain(g.ker.Size()*out), func(lo, hi int) {
		if rest.IsNone() {
			d.run(lo, hi, hi)
			return
		}
		together := max(1, elementwise.EpilogueBlock/out)
		for i := lo; i < hi; i += together { // the rest of the epilogue reads planes from the cache
			planes := min(together, hi-i)
			d.run(i, i+planes, hi)
			rest.Row(d.y[i*out:][:planes*out], i%g.oc, i*out)
		}
	})
}

// depthAffine returns the weights of a depthwise convolution, multiplied by the scale of e, and the shift of e, or zeros.
func depthAffine[T kernel.Float](g *geometry, w []T, e elementwise.Epilogue[T], scratch kernel.Scratch[T]) (weights, shift []T) {
	if e.Scale != nil {
		scaled := kernel.Take(scratch, g.ker.Size()*g.oc)
		scaleChannels(g.ker.Size(), w, e.Scale, scaled)
		w = scaled
	}
	if e.Shift != nil {
		return w, e.Shift
	}
	shift = kernel.Take(scratch, g.oc)
	clear(shift)
	return w, shift
}

// run computes the planes lo to hi of all images; planes from hi to end are computed later.
func (d *depthPlanes) run(lo, hi, end int) {
	multiple := d.outputs / d.inputs
	out := d.out.Size()
	d.each(lo, hi, end, func(i int) int {
		if multiple > 1 {
			return 1
		}
		return d.outputs - i%d.outputs // until the end of the image
	}, func(i, planes int, apart bool) {
		c := i % d.outputs
		x, y := d.x[(i/d.outputs*d.inputs+c/multiple-d.first)*d.planeX:], d.y[i*out:][:planes*out]
		if !apart {
			d.call(planes, c, x, d.planeX, y, out)
			return
		}
		buffer := kernel.Borrow[float32](planes*out + tileLanes())
		d.call(planes, c, x, d.planeX, *buffer, out)
		copy(y, *buffer)
		kernel.GiveBack(buffer)
	})
}

// call computes consecutive planes from channel c on, with strides xPlane in x and yPlane in y. After each plane of y,
// up to a vector less one element is overwritten.
func (d *depthPlanes) call(planes, c int, x []float32, xPlane int, y []float32, yPlane int) {
	taps := d.side * d.side
	w, shift := d.w[taps*c:], d.shift[c:]
	_, _, _, _ = x[(planes-1)*xPlane+d.in.Size()-1], w[taps*planes-1], shift[planes-1], y[(planes-1)*yPlane+d.out.Size()-1]
	d.kernel()(planes, &d.steps[0].from, len(d.steps), &d.masks[0], &x[0], 4*d.down*d.in[2], 4*xPlane, &y[0], 4*yPlane, &w[0], &shift[0], &d.clip[0])
}

// kernel returns the assembly for the window and stride.
func (d *depthPlanes) kernel() func(planes int, steps *int32, n int, masks *uint8, x *float32, xRow, xPlane int, y *float32, yPlane int, f, shift, clip *float32) {
	switch wide, stride2 := kernel.AVX512, d.stride[2] == 2; {
	case d.side == 3 && wide && stride2:
		return depthPlanes3Z2
	case d.side == 3 && wide:
		return depthPlanes3Z1
	case d.side == 3 && stride2:
		return depthPlanes3Y2
	case d.side == 3:
		return depthPlanes3Y1
	case wide && stride2:
		return depthPlanes5Z2
	case wide:
		return depthPlanes5Z1
	case stride2:
		return depthPlanes5Y2
	default:
		return depthPlanes5Y1
	}
}
