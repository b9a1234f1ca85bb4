package kernel

import (
	"math"
	"sync"
)

// Direct convolution: the input is copied once, piece by piece, between borders of zeros (see
// planes); the kernels then read it in place, every tap at its offset, and no matrix is formed. A
// piece with all its channels stays in the second cache level while all panels of weights pass by,
// so that each output is written once, finished.

// direct is a convolution, or a phase of the gradient of one.
type direct[T Float] struct {
	n, groups       int
	inputs, outputs int // channels of a group
	in, grid        triple
	stride          triple
	taps            []triple
	x               []T
	y               []T
	planeY, imageY  int    // elements of y from channel to channel and from image to image
	first           int    // where the first grid point lies in a plane of y
	step            triple // and how far the others are apart
	a               []T    // panels of weights: [group][panel][channel, tap][tileRows]
	pack            func(group, panel int, dst []T)
	shift           []T // per output channel, 0 for those that the last panel of a group lacks
	add             []T
	clip            *[2]T
	act             Activation // after everything else
}

const (
	// pieceElements is how large a piece may be: half of a second cache level of 512 KB.
	pieceElements = 1 << 16
	// pieceColumns is how many columns make the last tile of a piece, which is not full, cheap.
	pieceColumns = 480
)

// panels is how many panels of weights a group has.
func (d *direct[T]) panels() int { return cdiv(d.outputs, tileRows) }

func (d *direct[T]) k() int { return d.inputs * len(d.taps) }

// flatten tells whether the kernel is a single point that reads the output's own place, so that
// the input needs no borders. Then a plane is as good as a row, and is made one.
func (d *direct[T]) flatten() bool {
	if len(d.taps) > 1 || d.taps[0] != (triple{}) || d.stride != (triple{1, 1, 1}) || d.in != d.grid ||
		d.step != (triple{d.grid[1] * d.grid[2], d.grid[2], 1}) {
		return false
	}
	d.grid = triple{1, 1, d.in.size()}
	d.in = d.grid
	return true
}

// panel is a panel of weights that have been packed before.
func (d *direct[T]) panel(group, panel int) []T {
	k := d.k() * tileRows
	return d.a[(group*d.panels()+panel)*k:][:k]
}

// run computes y. The weights are packed now, or by each worker for itself if that is not too
// often: then the panel needs no way to main memory and back.
func (d *direct[T]) run(p *Pool, scratch func(n int) []T) {
	s := directPlans.Get().(*directPlan)
	defer directPlans.Put(s)
	planDirect(d, s, p.Threads(), d.flatten())
	tasks, parts := s.pieces*d.groups, 1
	if t := p.Threads(); tasks < 2*t && tasks%t != 0 {
		parts = min(t, d.panels())
	}
	panels := d.panels()
	if k := d.k() * tileRows; s.pieces > 2*p.Threads() || !s.byPanel {
		d.a = take(scratch, d.groups*panels*k)
		p.Range(d.groups*panels, max(1, 1<<13/k), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				d.pack(i/panels, i%panels, d.a[i*k:][:k])
			}
		})
	}
	p.Run(tasks*parts, func(_, i int) {
		w := directWorkers.Get().(*directWorker)
		defer directWorkers.Put(w)
		part := i % parts
		d.piece(s, w, i/parts/s.pieces, i/parts%s.pieces, part*panels/parts, (part+1)*panels/parts)
	})
}

// directPlan is how a convolution is cut in pieces.
type directPlan struct {
	layout           *planes
	images           int
	cuts             triple // pieces in z, y and x
	rows, cols       int
	pieces           int
	off              []int32
	inPlace, byPanel bool
}

// directWorker is what a worker needs besides the piece.
type directWorker struct {
	runs  []tileRun
	start []int // of each tile in runs, and the end
	at    []int // the first column of each tile
	off   []int32
}

var (
	directPlans   = sync.Pool{New: func() any { return new(directPlan) }}
	directWorkers = sync.Pool{New: func() any { return new(directWorker) }}
)

func planDirect[T Float](d *direct[T], s *directPlan, threads int, flat bool) {
	l := newPlanes(d.in, d.stride, d.taps)
	s.layout = l
	pieces := func(rows, cols, images int) int {
		s.rows, s.cols, s.images = rows, cols, images
		l.cut(images, rows, 0, cols, false, d.taps)
		return d.inputs * l.channel
	}
	rows, cols := d.grid[1], d.grid[2]
	for cuts := 2; pieces(rows, cols, 1) > pieceElements && rows > 1; cuts++ {
		rows = cdiv(d.grid[1], cuts)
	}
	for cuts := 2; pieces(rows, cols, 1) > pieceElements && cols > pieceColumns; cuts++ {
		cols = cdiv(d.grid[2], cuts)
	}
	s.inPlace = flat && cols >= 4*3*tileLanes()
	if !s.inPlace && rows == d.grid[1] && cols == d.grid[2] {
		images := 1
		for images < cdiv(d.n, threads) && l.extent() < pieceColumns && pieces(rows, cols, images+1) <= pieceElements {
			images++
		}
		pieces(rows, cols, cdiv(d.n, cdiv(d.n, images)))
	}
	s.cuts = triple{d.grid[0], cdiv(d.grid[1], s.rows), cdiv(d.grid[2], s.cols)}
	s.pieces = cdiv(d.n, s.images) * s.cuts.size()
	channel := l.channel
	if s.inPlace {
		channel = d.in.size()
	}
	s.off = s.off[:0]
	for c := range d.inputs {
		for _, t := range l.taps {
			s.off = append(s.off, int32(c*channel+t))
		}
	}
	n := len(s.off)
	s.off = append(s.off, make([]int32, tileAhead)...)[:n]
	s.byPanel = d.k()*3*tileLanes()*4 > 24<<10
}

// piece computes the panels p0 to p1 of a piece.
func (d *direct[T]) piece(s *directPlan, w *directWorker, group, piece, p0, p1 int) {
	image, r := piece/s.cuts.size()*s.images, piece%s.cuts.size()
	z, r := r/(s.cuts[1]*s.cuts[2]), r%(s.cuts[1]*s.cuts[2])
	y, x := r/s.cuts[2]*s.rows, r%s.cuts[2]*s.cols
	images, rows, cols := min(s.images, d.n-image), min(s.rows, d.grid[1]-y), min(s.cols, d.grid[2]-x)
	l := s.layout
	w.plan(l, images, rows, cols, d.step, d.imageY, s.inPlace)

	size, space := l.size(d.inputs), d.in.size()
	if s.inPlace {
		size = 0
	}
	panel := 0
	if d.a == nil {
		panel = len(s.off) * tileRows
	}
	buffer := borrow[T](maxTile + panel + size)
	defer giveBack(buffer)
	from := d.x[(image*d.groups+group)*d.inputs*space:]
	t, a, b := (*buffer)[:maxTile], (*buffer)[maxTile:][:panel], (*buffer)[maxTile+panel:][:size]
	if s.inPlace {
		b = from[x:]
	} else {
		clear(b)
		load(l, from, source{images, d.inputs, d.groups * d.inputs * space, space, z, y, x}, b)
	}
	base := image*d.imageY + group*d.outputs*d.planeY + d.first + z*d.step[0] + y*d.step[1] + x*d.step[2]
	tiles := len(w.start) - 1
	if s.byPanel {
		for p := p0; p < p1; p++ {
			if d.a == nil {
				d.pack(group, p, a)
			} else {
				a = d.panel(group, p)
			}
			for i := range tiles {
				d.tile(s, w, group, p, i, a, b, t, base)
			}
		}
	} else {
		for i := range tiles {
			for p := p0; p < p1; p++ {
				d.tile(s, w, group, p, i, d.panel(group, p), b, t, base)
			}
		}
	}
	if d.act.Kind != ActDefault {
		for o := p0 * tileRows; o < min(p1*tileRows, d.outputs); o++ {
			for i := range images {
				for r := range rows {
					activate(d.act, d.y[base+o*d.planeY+i*d.imageY+r*d.step[1]:][:cols])
				}
			}
		}
	}
}

// plan finds the tiles of a piece and their runs. With exact set no tile reaches beyond the last
// column: it starts earlier instead.
func (w *directWorker) plan(l *planes, images, rows, cols int, step triple, imageY int, exact bool) {
	w.runs, w.start, w.at = w.runs[:0], w.start[:0], w.at[:0]
	width, lanes := 3*tileLanes(), tileLanes()
	extent := (rows-1)*l.row + (images-1)*l.image + cols
	for t := 0; t < extent; t += width {
		end := min(t+width, extent)
		first := t
		if exact {
			first = end - cdiv(end-t, lanes)*lanes
		}
		w.at, w.start = append(w.at, first), append(w.start, len(w.runs))
		for at := first; at < end; {
			r, q := at/l.row, at%l.row
			i, x := q/l.image, q%l.image
			if i < images && x < cols {
				n := min(cols-x, end-at)
				w.add(tileRun{at - first, n, i*imageY + r*step[1] + x*step[2]}, step[2] == 1)
				at += n
				continue
			}
			at += l.image - x
		}
	}
	w.at, w.start = append(w.at, extent), append(w.start, len(w.runs))
}

// add appends a run to the last tile, or to its last run if it goes on from there.
func (w *directWorker) add(r tileRun, join bool) {
	if n := len(w.runs); join && n > w.start[len(w.start)-1] {
		if q := &w.runs[n-1]; q.from+q.n == r.from && q.to+q.n == r.to {
			q.n += r.n
			return
		}
	}
	w.runs = append(w.runs, r)
}

// tile computes tile i of a piece for a panel.
func (d *direct[T]) tile(s *directPlan, w *directWorker, group, panel, i int, a, b, t []T, base int) {
	runs := w.runs[w.start[i]:w.start[i+1]]
	if len(runs) == 0 {
		return
	}
	width := 3 * tileLanes()
	n := min(width, w.at[len(w.at)-1]-w.at[i])
	shift := d.shift[(group*d.panels()+panel)*tileRows:][:tileRows]
	rows := min(tileRows, d.outputs-panel*tileRows)
	to := base + panel*tileRows*d.planeY
	y := d.y[to:]
	b = b[w.at[i]:]
	if d.add == nil && d.step[2] == 1 && rows == tileRows && runs[0].n == n && n%tileLanes() == 0 {
		tile(rows, n, a, b, s.off, y[runs[0].to:], d.planeY, shift, d.clip)
		return
	}
	if d.add != nil {
		tile(rows, n, a, b, s.off, t, width, shift, nil)
		store(rows, t, width, runs, y, d.planeY, d.add[to:], d.clip)
		return
	}
	tile(rows, n, a, b, s.off, t, width, shift, d.clip)
	if d.step[2] == 1 {
		store(rows, t, width, runs, y, d.planeY, nil, nil)
		return
	}
	spread(rows, t, width, runs, y, d.planeY, d.step[2])
}

// finish makes the kernels apply an epilogue, but for its scale, which the weights bear.
func (d *direct[T]) finish(e *Epilogue[T]) {
	inf := T(math.Inf(1))
	switch e.Act.Kind {
	case ActRelu:
		d.clip = &[2]T{0, inf}
	case ActClip:
		d.clip = &[2]T{T(e.Act.Alpha), T(e.Act.Beta)}
	default:
		d.act = e.Act
	}
	if d.add = e.Add; d.add != nil && d.clip == nil {
		d.clip = &[2]T{-inf, inf}
	}
}
