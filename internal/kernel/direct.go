package kernel

import "sync"

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

// panel is the weights that have been packed before, from a panel on.
func (d *direct[T]) panel(group, panel int) []T {
	return d.a[(group*d.panels()+panel)*d.k()*tileRows:]
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
	s.cut(d.n, d.inputs, d.grid, d.taps, threads, pieceElements)
	s.inPlace = flat && s.cols >= 4*3*tileLanes()
	channel := l.channel
	if s.inPlace {
		s.images, channel = 1, d.in.size()
		s.pieces = d.n * s.cuts.size()
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

// cut divides n images of a grid of outputs in pieces of up to so many elements of input.
func (s *directPlan) cut(n, channels int, grid triple, taps []triple, threads, elements int) {
	l := s.layout
	try := func(rows, cols, images int) (small bool) {
		s.rows, s.cols, s.images = rows, cols, images
		l.cut(images, rows, cols, cols == grid[2], false, taps)
		return channels*l.channel <= elements
	}
	rows, cols := grid[1], grid[2]
	for cuts := 2; !try(rows, cols, 1) && rows > 1; cuts++ {
		rows = cdiv(grid[1], cuts)
	}
	for cuts := 2; !try(rows, cols, 1) && cols > pieceColumns; cuts++ {
		cols = cdiv(grid[2], cuts)
	}
	if rows == grid[1] && cols == grid[2] {
		images := 1
		for images < cdiv(n, threads) && l.extent() < pieceColumns && try(rows, cols, images+1) {
			images++
		}
		try(rows, cols, cdiv(n, cdiv(n, images)))
	}
	s.cuts = triple{grid[0], cdiv(grid[1], s.rows), cdiv(grid[2], s.cols)}
	s.pieces = cdiv(n, s.images) * s.cuts.size()
}

// part is which outputs a piece has.
type part struct {
	image, z, y, x     int // of the first
	images, rows, cols int
}

func (s *directPlan) part(piece, n int, grid triple) part {
	image, r := piece/s.cuts.size()*s.images, piece%s.cuts.size()
	z, r := r/(s.cuts[1]*s.cuts[2]), r%(s.cuts[1]*s.cuts[2])
	y, x := r/s.cuts[2]*s.rows, r%s.cuts[2]*s.cols
	return part{image, z, y, x, min(s.images, n-image), min(s.rows, grid[1]-y), min(s.cols, grid[2]-x)}
}

// piece computes the panels p0 to p1 of a piece.
func (d *direct[T]) piece(s *directPlan, w *directWorker, group, piece, p0, p1 int) {
	at, l := s.part(piece, d.n, d.grid), s.layout
	w.plan(l, at, 3*tileLanes(), d.step, d.imageY, s.inPlace)

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
	from := d.x[(at.image*d.groups+group)*d.inputs*space:]
	t, a, b := (*buffer)[:maxTile], (*buffer)[maxTile:][:panel], (*buffer)[maxTile+panel:][:size]
	if s.inPlace {
		b = from[at.x:]
	} else {
		clean(l, d.inputs, b)
		load(l, from, source{at.images, d.inputs, d.groups * d.inputs * space, space, at.z, at.y, at.x}, b)
	}
	base := at.image*d.imageY + group*d.outputs*d.planeY + d.first + at.z*d.step[0] + at.y*d.step[1] + at.x*d.step[2]
	tiles := len(w.start) - 1
	if s.byPanel {
		for p := p0; p < p1; p++ {
			if d.a == nil {
				d.pack(group, p, a)
			} else {
				a = d.panel(group, p)
			}
			for i := range tiles {
				d.tiles(s, w, group, p, p+1, i, a, b, t, base)
			}
		}
	} else {
		a := d.panel(group, p0)
		for i := range tiles {
			d.tiles(s, w, group, p0, p1, i, a, b, t, base)
		}
	}
	if d.act.Kind != ActDefault {
		for o := p0 * tileRows; o < min(p1*tileRows, d.outputs); o++ {
			for i := range at.images {
				for r := range at.rows {
					activate(d.act, d.y[base+o*d.planeY+i*d.imageY+r*d.step[1]:][:at.cols])
				}
			}
		}
	}
}

// plan finds the tiles, of the given width, of a part and their runs. With exact set no tile reaches beyond the last
// column: it starts earlier instead.
func (w *directWorker) plan(l *planes, p part, width int, step triple, imageY int, exact bool) {
	w.runs, w.start, w.at = w.runs[:0], w.start[:0], w.at[:0]
	lanes := tileLanes()
	extent := (p.rows-1)*l.row + (p.images-1)*l.image + p.cols
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
			if i < p.images && x < p.cols {
				n := min(p.cols-x, end-at)
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

// tiles computes tile i of a piece for the panels p0 to p1, of which a has the weights.
func (d *direct[T]) tiles(s *directPlan, w *directWorker, group, p0, p1, i int, a, b, t []T, base int) {
	runs := w.runs[w.start[i]:w.start[i+1]]
	if len(runs) == 0 {
		return
	}
	width, step := 3*tileLanes(), d.step[2]
	n := min(width, w.at[len(w.at)-1]-w.at[i])
	b = b[w.at[i]:]
	whole := d.add == nil && step == 1 && runs[0].n == n && n%tileLanes() == 0
	shift := d.shift[group*d.panels()*tileRows:]
	size := len(s.off) * tileRows
	for p := p0; p < p1; p++ {
		first := p * tileRows
		rows := min(tileRows, d.outputs-first)
		to := base + first*d.planeY
		switch {
		case whole && rows == tileRows:
			tile(rows, n, a, b, s.off, d.y[to+runs[0].to:], d.planeY, shift[first:], d.clip)
		case d.add != nil:
			tile(rows, n, a, b, s.off, t, width, shift[first:], nil)
			store(rows, t, width, runs, d.y[to:], d.planeY, d.add[to:], d.clip)
		case step == 1:
			tile(rows, n, a, b, s.off, t, width, shift[first:], d.clip)
			store(rows, t, width, runs, d.y[to:], d.planeY, nil, nil)
		default:
			tile(rows, n, a, b, s.off, t, width, shift[first:], d.clip)
			spread(rows, t, width, runs, d.y[to:], d.planeY, step)
		}
		if p+1 < p1 {
			a = a[size:]
		}
	}
}
