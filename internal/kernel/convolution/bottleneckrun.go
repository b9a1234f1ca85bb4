package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// bottleneckRun is a running Bottleneck.
type bottleneckRun struct {
	*Bottleneck
	x, y    []float32
	widen   *Weights[float32]      // of expand
	clip    *[2]float32            // limits of its results
	wide    elementwise.Activation // activation of its results
	depth   depthPlanes
	deep    elementwise.Epilogue[float32] // epilogue of depth
	product direct[float32]               // running project
}

// group returns the first image of a group and the number of its images.
func (b *Bottleneck) group(i int) (first, images int) {
	return i * b.images, min(b.images, b.n-i*b.images)
}

// deepen computes the panels p0 to p1 of the depthwise convolution of a group, and writes them to d or, if no convolution follows, to y.
func (r *bottleneckRun) deepen(group, p0, p1 int, d []float32) {
	first, images := r.group(group)
	xPlane, xImage := r.in, r.channels*r.in // strides of the depthwise convolution's input
	var source, e []float32
	if l := r.expand; l != nil {
		room, copied := r.room(r.in), 0
		if !l.inPlace {
			copied = l.inputs * l.from
		}
		buffer := kernel.Borrow[float32](tileRows*room + copied)
		defer kernel.GiveBack(buffer)
		source, e = r.x[first*l.inputs*r.in:], (*buffer)[:tileRows*room]
		if !l.inPlace {
			beside := (*buffer)[tileRows*room:]
			pick(images, l.inputs, r.in, source, l.inputs*r.in, r.in, 1, beside, r.in, l.from)
			source = beside
		}
		xPlane, xImage = room, r.in
	}
	for p := p0; p < p1; p++ {
		c := p * tileRows
		rows := min(tileRows, r.channels-c)
		from := e
		if r.expand != nil {
			r.panel(p, rows, images*r.in, source, e)
		} else {
			from = r.x[(first*r.channels+c)*r.in:]
		}
		for q := range images {
			r.planes(first, q, c, rows, min(p1*tileRows, r.channels)-c, from[q*xImage:], xPlane, d)
		}
		if r.project != nil && !r.deep.IsNone() {
			for i := range rows {
				r.deep.Row(d[(c+i)*r.project.from:][:images*r.out], c+i, 0)
			}
		}
	}
}

// panel computes rows ≤ tileRows channels of expand for the given number of columns.
func (r *bottleneckRun) panel(p, rows, columns int, x, e []float32) {
	l, room, width, lanes := r.expand, r.room(r.in), 3*tileLanes(), tileLanes()
	a, shift := r.widen.weights[p*tileRows*l.inputs:], r.widen.shift[p*tileRows:]
	for j := 0; j < columns; j += width {
		n, at := min(width, columns-j), j
		if l.inPlace { // must not read beyond the last column
			at = j + n - kernel.CeilDiv(n, lanes)*lanes
		}
		tile(rows, n, a, tileRows, x[at:], l.plan.off, e[at:], room, shift, r.clip)
	}
	if r.wide.Kind != elementwise.ActDefault {
		for i := range rows {
			elementwise.Activate(r.wide, e[i*room:][:columns])
		}
	}
}

// planes computes rows channels from c on, for image q of a group that starts at image first. left is the number of channels
// from c on that this thread computes. from has the input planes.
func (r *bottleneckRun) planes(first, q, c, rows, left int, from []float32, xPlane int, d []float32) {
	if r.project != nil {
		room := r.project.from
		d = d[c*room+q*r.out:]
		r.depth.call(rows, c, from, xPlane, d, room)
		return
	}
	depth, lo := r.depth, (first+q)*r.channels+c
	depth.x, depth.first, depth.planeX = from, lo, xPlane
	depth.run(lo, lo+rows, lo+left)
	if at := lo * r.out; !r.deep.IsNone() {
		r.deep.Row(r.y[at:][:rows*r.out], c, at)
	}
}

// narrow computes part i of the given number of parts of project for a group: a range of columns, or of channels if there are
// more panels than tiles.
func (r *bottleneckRun) narrow(group, i, parts int, d []float32) {
	if r.project == nil {
		return
	}
	w := directWorkers.Get().(*directWorker)
	defer directWorkers.Put(w)
	p := &r.product
	first, images := r.group(group)
	at := part{image: first, images: images, rows: 1, cols: r.out}
	w.plan(&planes{row: images * r.out, image: r.out}, at, tileWidth, p.step, p.imageY, false)
	p0, p1, t0, t1 := 0, p.panels(), 0, len(w.tiles)-1
	if p1 > t1 || p.act.Kind != elementwise.ActDefault {
		p0, p1 = i*p1/parts, (i+1)*p1/parts
	} else {
		t0, t1 = i*t1/parts, (i+1)*t1/parts
	}
	buffer := kernel.Borrow[float32](maxTile)
	defer kernel.GiveBack(buffer)
	p.sweep(&r.project.plan, w, at, 0, p0, p1, t0, t1, nil, d, *buffer, nil)
	p.activate(at, 0, p0, p1)
}
