package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
)

// Direct convolution: the input is copied once, in blocks with borders of zeros (see planes). The kernels then
// read each block in place, every tap at its offset, without an im2col matrix. A block with all its channels
// stays in the L2 cache while all panels of weights are multiplied, so that each output is written once, with
// its epilogue, in memory order. Few channels are written at a time, since scattered writes take several times
// as long if the output is not cached.

// direct is a convolution, or a phase of the gradient of one.
type direct[T kernel.Float] struct {
	n, groups       int
	inputs, outputs int // channels of a group
	in, grid        Triple
	stride          Triple
	taps            []Triple
	x               []T
	y               []T
	planeY, imageY  int    // strides between channels and between images of y
	first           int    // offset of the first grid point in a plane of y
	step            Triple // strides between grid points
	a               []T    // panels of weights: [kernel.Group][panel][channel, tap][tileRows]
	lead            int    // if not 0, a is [kernel.Group][channel][output channel] instead, with this stride between channels
	pack            func(group, panel int, dst []T)
	shift           []T // per output channel, padded with 0 to whole panels in each group
	add             []T
	clip            *[2]T
	act             elementwise.Activation // applied last
	pool            *kernel.Pool           // the worker pool to run on
	after           []T                    // memory that the caller reads next, to prefetch
	lines           *lines                 // if set, this is the gradient of a strided convolution, whose grid points are divided into phases
	rows            Triple                 // if set, planes of this size whose rows are stored apart
}

const (
	// cacheBlockElements is the maximum size of a block: half of an L2 cache of 512 KB.
	cacheBlockElements = 1 << 16
	// cacheBlockColumns is the number of columns from which the cost of a partial last tile is negligible.
	cacheBlockColumns = 256
)

// panels returns the number of panels of weights of a group.
func (d *direct[T]) panels() int { return kernel.CeilDiv(d.outputs, tileRows) }

// k returns the number of products per output; a panel of weights has k·tileRows elements for each phase.
func (d *direct[T]) k() int {
	if d.lines != nil {
		return d.inputs * d.lines.sums
	}
	return d.inputs * len(d.taps)
}

// flatten treats a plane as one row if the kernel is a single point that reads the position of its output, which is
// equivalent.
func (d *direct[T]) flatten() {
	if d.lines != nil || len(d.taps) > 1 || d.taps[0] != (Triple{}) || d.stride != (Triple{1, 1, 1}) || d.in != d.grid ||
		d.step != (Triple{d.grid[1] * d.grid[2], d.grid[2], 1}) {
		return
	}
	d.grid = Triple{1, 1, d.in.Size()}
	d.in = d.grid
}

// dense reports whether every output point has one input point, inside the input. If so, there are no borders, and
// vertically stacked images need no padding between them.
func (d *direct[T]) dense() bool {
	inside := len(d.taps) == 1
	for i, n := range d.grid {
		first := d.taps[0][i]
		inside = inside && first >= 0 && (n-1)*d.stride[i]+first < d.in[i]
	}
	return inside
}

// panel returns a panel of weights and its row stride. The panel is packed to room unless the weights are packed.
func (d *direct[T]) panel(group, panel int, room []T) (a []T, step int) {
	switch {
	case d.a == nil:
		d.pack(group, panel, room)
		return room, tileRows
	case d.lead > 0:
		return d.a[group*d.inputs*d.lead+panel*tileRows:], d.lead
	}
	return d.a[(group*d.panels()+panel)*d.k()*tileRows:], tileRows
}

// run computes y. Weights that are not packed are packed first, or by each worker separately if that repeats
// little work: a panel packed by its reader is in the right cache.
func (d *direct[T]) run(p *kernel.Pool, scratch func(n int) []T) {
	s := directPlans.Get().(*directPlan)
	defer directPlans.Put(s)
	if d.n*d.groups*d.outputs*d.k()*d.grid.Size() < matmul.SmallProduct {
		p = nil
	}
	d.pool = p
	d.flatten()
	planDirect(d, s, p.Threads())
	panels := d.panels()
	if d.a == nil && s.cacheBlocks >= 2*p.Threads() {
		d.packAll(p, scratch)
	}
	// Each thread computes the same number of blocks; the panels of the remaining blocks are divided among threads.
	t := p.Threads()
	each, left := s.cacheBlocks*d.groups/t, s.cacheBlocks*d.groups%t
	p.Run(t*(each+left), func(_, i int) {
		w := directWorkers.Get().(*directWorker)
		defer directWorkers.Put(w)
		thread, j := i/(each+left), i%(each+left)
		task, p0, p1 := thread*each+j, 0, panels
		if j >= each {
			task, p0, p1 = t*each+j-each, thread*panels/t, (thread+1)*panels/t
		}
		if p0 < p1 {
			d.cacheBlock(s, w, task/s.cacheBlocks, task%s.cacheBlocks, p0, p1, j+1 < each)
		}
	})
}

// packAll packs all weights.
func (d *direct[T]) packAll(p *kernel.Pool, scratch func(n int) []T) {
	panels, k := d.panels(), d.k()*tileRows
	d.a = kernel.Take(scratch, d.groups*panels*k)
	p.Range(d.groups*panels, max(1, 1<<13/k), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			d.pack(i/panels, i%panels, d.a[i*k:][:k])
		}
	})
}

// cacheBlock computes the panels p0 to p1 of a block. more reports whether the same thread computes the next block, too.
func (d *direct[T]) cacheBlock(s *directPlan, w *directWorker, group, cacheBlock, p0, p1 int, more bool) {
	at, l := s.part(cacheBlock, d.n, d.grid), &s.layout
	size, space := l.size(d.inputs), d.in.Size()
	if s.inPlace {
		size = 0
	}
	panel := 0
	if d.a == nil {
		panel = len(s.off) * tileRows
	}
	room := maxTile
	if d.lines != nil {
		room *= len(d.lines.all[0].phases)
	}
	buffer := kernel.Borrow[T](room + panel + size + slack) // interleave reads up to a vector after t
	defer kernel.GiveBack(buffer)
	from := d.x[(at.image*d.groups+group)*d.inputs*space:]
	t, a, b := (*buffer)[:room], (*buffer)[room:][:panel], (*buffer)[room+panel:][:size]
	if s.inPlace {
		b = from[(at.z*d.in[1]+at.y)*d.in[2]+at.x:]
	} else {
		clean(l, d.inputs, b)
		load(l, from, source{at.images, d.inputs, d.groups * d.inputs * space, space, at.z, at.y, at.x}, b)
	}
	w.plan(l, at, tileWidth, d.step, d.imageY, s.inPlace)
	if d.lines != nil {
		d.sweepLines(s, w, at, group, p0, p1, a, b, t)
		return
	}
	var input []T
	if more && d.groups == 1 && s.cuts.Size() == 1 { // the next block has whole images, of all channels
		image := d.inputs * space
		first := at.image + at.images
		input = d.x[first*image : min(first+at.images, d.n)*image]
	}
	after := d.after[len(d.after)*cacheBlock/s.cacheBlocks : len(d.after)*(cacheBlock+1)/s.cacheBlocks]
	later := newPrefetch(tileFetches((p1-p0)*(len(w.tiles)-1), len(s.off), tileRows, 3), input, after)
	d.sweep(s, w, at, group, p0, p1, 0, len(w.tiles)-1, a, b, t, &later)
	d.activate(at, group, p0, p1)
}

// base returns the offset in y of the first output of a part.
func (d *direct[T]) base(at part, group int) int {
	return at.image*d.imageY + group*d.outputs*d.planeY + d.first + at.z*d.step[0] + at.y*d.step[1] + at.x*d.step[2]
}

// sweep computes the tiles i0 to i1 of a part for the panels p0 to p1. b is the part's input; a is scratch memory for a
// panel of weights if they are not packed, t for a tile.
func (d *direct[T]) sweep(s *directPlan, w *directWorker, at part, group, p0, p1, i0, i1 int, a, b, t []T, later *prefetch[T]) {
	base := d.base(at, group)
	for p := p0; p < p1; p++ {
		d.pool.Check()
		a, step := d.panel(group, p, a)
		for i := i0; i < i1; {
			i += d.tiles(s, w, group, p, i, i1, a, step, b, t, base, later)
		}
	}
}

// activate applies the rest of the activation to the panels p0 to p1 of a part, to contiguous runs of elements at a time.
// It is not needed for tiles stored by spread, which applies it.
func (d *direct[T]) activate(at part, group, p0, p1 int) {
	if d.act.Kind == elementwise.ActDefault || d.step[2] != 1 {
		return
	}
	first, end := p0*tileRows, min(p1*tileRows, d.outputs)
	base := d.base(at, group) + first*d.planeY
	channels, rows, cols := end-first, at.rows, at.cols
	if rows == 1 || cols == d.step[1] {
		rows, cols = 1, rows*cols
	}
	if rows == 1 && cols == d.planeY {
		channels, cols = 1, channels*cols
	}
	for i := range at.images {
		for c := range channels {
			for r := range rows {
				elementwise.ActivateBlocks(d.act, d.y[base+i*d.imageY+c*d.planeY+r*d.step[1]:][:cols])
			}
		}
	}
}

// tiles computes tile i of a block, and the tiles before end that are adjacent to it in y, for panel p. a has the
// panel's weights with the row stride lead. It returns the number of tiles computed; room is scratch memory for
// one tile.
func (d *direct[T]) tiles(s *directPlan, w *directWorker, group, p, i, end int, a []T, lead int, b, room []T, base int, later *prefetch[T]) int {
	t, runs := &w.tiles[i], w.of(i)
	if len(runs) == 0 {
		return 1
	}
	first, width, step := p*tileRows, 3*tileLanes(), d.step[2]
	rows, n := min(tileRows, d.outputs-first), t.n
	shift := d.shift[group*d.panels()*tileRows+first:]
	b, to := b[t.at:], base+first*d.planeY
	switch {
	case d.add == nil && step == 1 && rows == tileRows && t.side > 0:
		count := min(t.side, end-i)
		tiles(count, rows, n, a, lead, b, s.off, d.y[to+runs[0].to:], d.planeY, shift, d.clip, later)
		return count
	case d.add != nil:
		tiles(1, rows, n, a, lead, b, s.off, room, width, shift, nil, later)
		store(rows, room, width, runs, d.y[to:], d.planeY, d.add[to:], d.clip)
	case step == 1:
		tiles(1, rows, n, a, lead, b, s.off, room, width, shift, d.clip, later)
		store(rows, room, width, runs, d.y[to:], d.planeY, nil, nil)
	default:
		tiles(1, rows, n, a, lead, b, s.off, room, width, shift, d.clip, later)
		elementwise.Activate(d.act, room[:(rows-1)*width+n])
		spread(rows, room, width, runs, d.y[to:], d.planeY, step)
	}
	return 1
}
