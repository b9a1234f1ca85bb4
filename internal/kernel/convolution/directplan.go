package convolution

import (
	"sync"

	"github.com/graft-ml/graft/internal/kernel"
)

// directPlan is the division of a convolution into blocks.
type directPlan struct {
	layout      planes
	images      int
	cuts        Triple // numbers of blocks in z, y and x
	rows, cols  int
	cacheBlocks int
	off         []int32
	inPlace     bool
}

// directWorker is the state of a worker, without its loaded block.
type directWorker struct {
	runs  []tileRun
	tiles []directTile // followed by an empty tile
	off   []int32
}

// directTile is a tile of a part.
type directTile struct {
	at, n int // first column and number of columns
	run   int // index of its first run; its runs end where those of the next tile start
	side  int // number of tiles, from this one on, that are stored directly and adjacently in y
}

var (
	directPlans   = sync.Pool{New: func() any { return new(directPlan) }}
	directWorkers = sync.Pool{New: func() any { return new(directWorker) }}
)

func planDirect[T kernel.Float](d *direct[T], s *directPlan, threads int) {
	l := &s.layout
	l.describe(d.in, d.stride, d.taps)
	dense := d.dense()
	if d.outputs > d.n*d.grid.Size() {
		threads = 1 // the weights are larger: divide the panels, not the images, among threads
	}
	s.cut(d.pool, d.n, d.inputs, d.grid, d.taps, threads, cacheBlockElements, dense)
	last := (d.grid[1] - (s.cuts[1]-1)*s.rows) * (d.grid[2] - (s.cuts[2]-1)*s.cols)                  // points of the smallest block
	s.inPlace = dense && d.in == d.grid && s.rows*s.cols >= 4*3*tileLanes() && last >= 3*tileLanes() // otherwise its last tile would start before it
	channel := l.channel
	if s.inPlace {
		s.images, channel = 1, d.in.Size()
		l.readInPlace()
		s.cacheBlocks = d.n * s.cuts.Size()
	}
	s.off = s.off[:0]
	if d.lines != nil {
		s.off = d.lines.offsets(d.inputs, channel, l.taps, s.off)
	} else {
		s.off = tapOffsets(d.inputs, channel, l.taps, s.off)
	}
	n := len(s.off)
	s.off = append(s.off, make([]int32, tilePrefetch)...)[:n]
}

// tapOffsets appends to off the offsets that the taps read, for the given number of channels with stride channel.
func tapOffsets(channels, channel int, taps []int, off []int32) []int32 {
	for c := range channels {
		for _, t := range taps {
			off = append(off, int32(c*channel+t))
		}
	}
	return off
}

// cut divides n images of a grid of outputs into blocks of at most the given number of input elements. The images of a
// block are stacked horizontally or vertically.
func (s *directPlan) cut(p *kernel.Pool, n, channels int, grid Triple, taps []Triple, threads, elements int, below bool) {
	l := &s.layout
	try := func(rows, cols, images int) (small bool) {
		p.Check()
		s.rows, s.cols, s.images = rows, cols, images
		l.cut(images, rows, cols, cols == grid[2], below, taps)
		return channels*l.channel <= elements
	}
	rows, cols := grid[1], grid[2]
	for cuts := 2; !try(rows, cols, 1) && rows > 1; cuts++ {
		rows = kernel.CeilDiv(grid[1], cuts)
	}
	for cuts := 2; !try(rows, cols, 1) && cols > cacheBlockColumns; cuts++ {
		cols = kernel.CeilDiv(grid[2], cuts)
	}
	if rows == grid[1] && cols == grid[2] {
		images := 1
		for images < kernel.CeilDiv(n, threads) && l.extent() < cacheBlockColumns && try(rows, cols, images+1) {
			images++
		}
		try(rows, cols, kernel.CeilDiv(n, kernel.CeilDiv(n, images)))
	}
	s.cuts = Triple{grid[0], kernel.CeilDiv(grid[1], s.rows), kernel.CeilDiv(grid[2], s.cols)}
	s.cacheBlocks = kernel.CeilDiv(n, s.images) * s.cuts.Size()
}

// part is the range of outputs of a block.
type part struct {
	image, z, y, x     int // position of the first output
	images, rows, cols int
}

func (s *directPlan) part(cacheBlock, n int, grid Triple) part {
	image, r := cacheBlock/s.cuts.Size()*s.images, cacheBlock%s.cuts.Size()
	z, r := r/(s.cuts[1]*s.cuts[2]), r%(s.cuts[1]*s.cuts[2])
	y, x := r/s.cuts[2]*s.rows, r%s.cuts[2]*s.cols
	return part{image, z, y, x, min(s.images, n-image), min(s.rows, grid[1]-y), min(s.cols, grid[2]-x)}
}

// plan computes the tiles of a part and their runs. width returns the number of columns of the next tile for the number of
// columns left. With exact no tile extends beyond the last column; it starts earlier instead.
func (w *directWorker) plan(l *planes, p part, width func(left int) int, step Triple, imageY int, exact bool) {
	w.runs, w.tiles = w.runs[:0], w.tiles[:0]
	lanes := tileLanes()
	extent := (p.rows-1)*l.row + (p.images-1)*l.image + p.cols
	for t, end := 0, 0; t < extent; t = end {
		end = min(t+width(extent-t), extent)
		first := t
		if exact {
			first = end - kernel.CeilDiv(end-t, lanes)*lanes
		}
		w.tiles = append(w.tiles, directTile{at: first, n: end - first, run: len(w.runs)})
		for at := first; at < end; {
			i, r, x := l.point(at)
			if i < p.images && x < p.cols {
				n := min(p.cols-x, end-at)
				w.add(tileRun{at - first, n, i*imageY + r*step[1] + x*step[2]}, step[2] == 1 && r > 0) // a run is of one image
				at += n
				continue
			}
			at += l.segment - x // from there to the start of the next row of an image
		}
	}
	w.tiles = append(w.tiles, directTile{at: extent, run: len(w.runs)})
	w.findSides()
}

// tileWidth returns the number of columns of the next tile of an 8-row kernel, given the number of columns left: three vectors,
// or two with AVX-512 if a single one would remain, which would take as long as two.
func tileWidth(left int) int {
	lanes := tileLanes()
	if kernel.AVX512 && left > 3*lanes && left <= 4*lanes {
		return 2 * lanes
	}
	return 3 * lanes
}

// of returns the runs of tile i.
func (w *directWorker) of(i int) []tileRun { return w.runs[w.tiles[i].run:w.tiles[i+1].run] }

// findSides sets the side of all tiles.
func (w *directWorker) findSides() {
	for i := len(w.tiles) - 2; i >= 0; i-- {
		t, next, runs := &w.tiles[i], &w.tiles[i+1], w.of(i)
		if len(runs) != 1 || runs[0].n != t.n || t.n%tileLanes() != 0 {
			continue
		}
		t.side = 1
		if next.side > 0 && next.n == t.n && next.at == t.at+t.n && w.runs[next.run] == (tileRun{0, t.n, runs[0].to + t.n}) {
			t.side += next.side
		}
	}
}

// add appends a run to the last tile, or extends its last run if they are contiguous.
func (w *directWorker) add(r tileRun, join bool) {
	if n := len(w.runs); join && n > w.tiles[len(w.tiles)-1].run {
		if q := &w.runs[n-1]; q.from+q.n == r.from && q.to+q.n == r.to {
			q.n += r.n
			return
		}
	}
	w.runs = append(w.runs, r)
}
