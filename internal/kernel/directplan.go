package kernel

import (
	"slices"
	"sync"
)

// directPlan is how a convolution is cut in pieces.
type directPlan struct {
	layout     planes
	images     int
	cuts       triple // pieces in z, y and x
	rows, cols int
	pieces     int
	off        []int32
	inPlace    bool
}

// directWorker is what a worker needs besides the piece.
type directWorker struct {
	runs  []tileRun
	start []int // of each tile in runs, and the end
	at    []int // the first column of each tile
	side  []int // how many tiles, from each one on, go to y side by side as they are
	off   []int32
}

var (
	directPlans   = sync.Pool{New: func() any { return new(directPlan) }}
	directWorkers = sync.Pool{New: func() any { return new(directWorker) }}
)

func planDirect[T Float](d *direct[T], s *directPlan, threads int) {
	l := &s.layout
	l.describe(d.in, d.stride, d.taps)
	dense := d.dense()
	s.cut(d.n, d.inputs, d.grid, d.taps, threads, pieceElements, dense)
	last := (d.grid[1] - (s.cuts[1]-1)*s.rows) * (d.grid[2] - (s.cuts[2]-1)*s.cols) // points of the smallest piece
	s.inPlace = dense && d.in == d.grid && s.rows*s.cols >= 4*3*tileLanes() && last >= tileLanes()
	channel := l.channel
	if s.inPlace {
		s.images, channel = 1, d.in.size()
		s.pieces = d.n * s.cuts.size()
	}
	s.off = s.off[:0]
	if d.lines != nil {
		s.off = d.lines.offsets(d.inputs, channel, l.taps, s.off)
	} else {
		for c := range d.inputs {
			for _, t := range l.taps {
				s.off = append(s.off, int32(c*channel+t))
			}
		}
	}
	n := len(s.off)
	s.off = append(s.off, make([]int32, tileAhead)...)[:n]
}

// cut divides n images of a grid of outputs in pieces of up to so many elements of input; those of a piece lie side by
// side or one below the other.
func (s *directPlan) cut(n, channels int, grid triple, taps []triple, threads, elements int, below bool) {
	l := &s.layout
	try := func(rows, cols, images int) (small bool) {
		s.rows, s.cols, s.images = rows, cols, images
		l.cut(images, rows, cols, cols == grid[2], below, taps)
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
			i, r, x := l.point(at)
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
	w.findSides(width)
}

// findSides sets side.
func (w *directWorker) findSides(width int) {
	last := len(w.at) - 1
	w.side = slices.Grow(w.side[:0], last+1)[:last+1]
	w.side[last] = 0
	var next tileRun
	for i := last - 1; i >= 0; i-- {
		w.side[i] = 0
		runs, n := w.runs[w.start[i]:w.start[i+1]], min(width, w.at[last]-w.at[i])
		if len(runs) != 1 || runs[0].n != n || n%tileLanes() != 0 {
			continue
		}
		w.side[i] = 1
		if w.side[i+1] > 0 && w.at[i+1] == w.at[i]+n && next == (tileRun{0, n, runs[0].to + n}) {
			w.side[i] += w.side[i+1]
		}
		next = runs[0]
	}
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
