package kernel

import "math"

// Depthwise 3×3 convolution in place: each plane is read where it lies, and masks take the part of a
// border of zeros. Vectors run over outputs that lie together; a plane as wide as its result is one
// long row of them.

// depthPlanes is a convolution of planes with nine weights each.
type depthPlanes struct {
	in, out, pad, stride triple // the first numbers are 1, 1, 0 and 1
	down                 int    // rows from tap to tap
	steps                []depthStep
	masks                []uint8
	sets                 []depthSet
}

// depthStep is a vector of outputs.
type depthStep struct {
	from, to int32 // bytes from the beginning of the plane: of what the first tap reads, and of the result
	masks    int64 // bytes from the beginning of all masks; < 0: every tap reads inside of the plane
}

// depthSet tells sets of masks apart: by the input column below the first lane's middle tap, and by its row where
// the first or last rows of the plane are near.
type depthSet struct {
	column, above, below int
	masks                int64
}

// depthPlanesLimit is how many outputs a plane may have: larger ones take longer to plan than is worth it.
const depthPlanesLimit = 1 << 16

// depthPlanesFit tells whether planes of the output of a convolution with one kernel for each output
// channel can be computed this way.
func depthPlanesFit(g *geometry) bool {
	in, out := g.in, g.out
	return simd && g.cg == 1 && g.ker == (triple{1, 3, 3}) && in[0] == 1 && out[0] == 1 && g.pad[0] == 0 && g.dil[2] == 1 &&
		g.stride[2] <= 2 && max(in.size(), out.size()) <= depthPlanesLimit && min(in.size(), out.size()) > 0
}

// planDepthPlanes plans a convolution that depthPlanesFit.
func planDepthPlanes(g *geometry) *depthPlanes {
	in, out, stride := g.in, g.out, g.stride
	d := &depthPlanes{in: in, out: out, pad: g.pad, stride: stride, down: g.dil[1], masks: make([]uint8, 1)}
	lanes := tileLanes()
	if in[2] == out[2] && stride[1] == 1 && stride[2] == 1 {
		for i := 0; i < out.size(); i += lanes {
			d.step(i/out[2], i%out[2], out[2])
		}
		return d
	}
	for r := range out[1] {
		for c := 0; c < out[2]; c += lanes / stride[2] {
			d.step(r, c, 0)
		}
	}
	return d
}

// step adds the outputs from (row, column) on. Where width is not 0, they go on in the next row.
func (d *depthPlanes) step(row, column, width int) {
	s := depthStep{to: int32(4 * (row*d.out[2] + column))}
	row, column = row*d.stride[1]-d.pad[1], column*d.stride[2]-d.pad[2]
	s.from = int32(4 * (row*d.in[2] + column))
	// How many rows down the last lane's last tap is, at most.
	reach := 2 * d.down
	if width > 0 {
		reach += tileLanes()/width + 1
	}
	set := depthSet{column: column, above: min(row, 0), below: min(d.in[1]-1-row-reach, 0)}
	for _, q := range d.sets {
		if set.masks = q.masks; q == set {
			s.masks = q.masks
			d.steps = append(d.steps, s)
			return
		}
	}
	set.masks = d.mask(row, column, width)
	s.masks = set.masks
	d.sets, d.steps = append(d.sets, set), append(d.steps, s)
}

// mask adds masks for lanes whose first taps read from (row, column) on.
func (d *depthPlanes) mask(row, column, width int) int64 {
	lanes := tileLanes()
	var inside [9][16]bool
	whole := true
	for lane := range lanes {
		r, c := row, column+lane
		if width > 0 {
			r, c = row+(c+d.pad[2])/width, (c+d.pad[2])%width-d.pad[2]
		}
		for t := range inside {
			y, x := r+t/3*d.down, c+t%3
			inside[t][lane] = y >= 0 && y < d.in[1] && x >= 0 && x < d.in[2]
			whole = whole && inside[t][lane]
		}
	}
	if whole {
		return -1
	}
	at := int64(len(d.masks))
	for _, lane := range inside {
		if lanes == 16 {
			bits := 0
			for i, in := range lane {
				if in {
					bits |= 1 << i
				}
			}
			d.masks = append(d.masks, uint8(bits), uint8(bits>>8))
			continue
		}
		for _, in := range lane[:lanes] {
			m := uint8(0)
			if in {
				m = 255
			}
			d.masks = append(d.masks, m, m, m, m)
		}
	}
	return at
}

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

// depthPlanesForward computes y = conv(x, w), finished as e says.
func depthPlanesForward[T Float](p *Pool, d *depthPlanes, g *geometry, x, w []T, e Epilogue[T], y []T, scratch Scratch[T]) {
	in, out := g.in.size(), g.out.size()
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
	together := g.og == 1 && rest.none() // so that planes of x and y follow one another
	p.Range(g.n*g.oc, planeGrain(9*out), func(lo, hi int) {
		for i := lo; i < hi; {
			c, planes := i%g.oc, 1
			if together {
				planes = min(hi-i, g.oc-c)
			}
			d.run(planes, hi-i-planes, as32(x[(i/g.oc*g.c+c/g.og)*in:]), as32(w[9*c:]), as32(shift[c:]), as32(y[i*out:]), as32(clip[:]))
			for range planes {
				rest.row(y[i*out:][:out], i%g.oc, i*out)
				i++
			}
		}
	})
}

// run convolves planes of x with nine weights each, adds shift and clips. What is stored behind a plane
// the next ones overwrite, of which so many are still to come behind these.
func (d *depthPlanes) run(planes, behind int, x, w, shift, y, clip []float32) {
	in, out := d.in.size(), d.out.size()
	last := min(planes, max(0, cdiv(tileLanes(), out)-behind)) // to be computed elsewhere
	if planes -= last; planes > 0 {
		d.call(planes, x, w, shift, y, clip)
	}
	if last > 0 {
		buffer := borrow[float32](last*out + tileLanes())
		d.call(last, x[planes*in:], w[planes*9:], shift[planes:], *buffer, clip)
		copy(y[planes*out:][:last*out], *buffer)
		giveBack(buffer)
	}
}

func (d *depthPlanes) call(planes int, x, w, shift, y, clip []float32) {
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
	f(planes, &d.steps[0].from, len(d.steps), &d.masks[0], &x[0], 4*d.down*d.in[2], 4*in, &y[0], 4*out, &w[0], &shift[0], &clip[0])
}
