package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// winogradGradient is the gradient with respect to the weights of a convolution: for each point the product, over
// tiles, of transformed gradients of outputs with transformed inputs.
type winogradGradient[T kernel.Float] struct {
	*winogradTile
	x, dy winogradPlanes[T] // divided into the same tiles
	n     int               // number of images
	dw    []T
	marks []T // see winograd
}

const (
	winogradTiles = 3 << 16 // maximum number of elements of transformed tiles of x and dy that are processed together
	winogradKeep  = 4 << 15 // maximum number of elements of x and of products if there are few tiles
	winogradSums  = 1 << 18 // maximum number of elements of products for which each thread has its own
)

// run computes dw and reports whether all values are finite; if not, dw may have NaN in place of infinities.
func (w *winogradGradient[T]) run(p *kernel.Pool, scratch kernel.Scratch[T]) bool {
	w.marks = newMarks(p, scratch)
	if w.n*w.x.down*w.x.across < w.x.all() {
		w.byWeights(p, scratch)
	} else {
		w.byTiles(p, scratch)
	}
	return allFinite(w.marks)
}

// byTiles processes a block of tiles at a time, adding to the products of all weights.
func (w *winogradGradient[T]) byTiles(p *kernel.Pool, scratch kernel.Scratch[T]) {
	c, oc := w.x.all(), w.dy.all()
	rows := w.n * w.x.down
	per := max(kernel.CeilDiv(2*winogradLeast, w.x.across), winogradTiles/(w.points()*w.x.across*(roundLanes(c)+roundLanes(oc))))
	blocks := kernel.CeilDiv(rows, per)
	m := newGrid[T](w.weightPoints(), oc, c)
	if t := p.Threads(); t > 1 && blocks >= 2*t && m.size <= winogradSums {
		if each := kernel.CeilDiv(blocks, t); each*t <= rows {
			w.apart(p, scratch, each, m)
			return
		}
	}
	v, d, rooms, size := w.rooms(p, scratch, kernel.CeilDiv(rows, blocks), 0)
	m.v = kernel.Take(scratch, m.size)
	step := 1
	if w.kinds < w.side {
		step = 5 // weights that several points share are contiguous, and must not all be computed by the same thread
	}
	for i := range blocks {
		lo, hi := i*rows/blocks, (i+1)*rows/blocks
		w.transform(p, lo, hi, v, d, rooms, size)
		p.Run(w.weightPoints(), func(_, task int) {
			u := task * step % w.weightPoints()
			w.multiply(u, 0, oc, 0, c, (hi-lo)*w.x.across, v, d, m, i > 0)
		})
	}
	cacheBlocks := min(oc, p.Threads())
	p.Run(cacheBlocks, func(worker, i int) {
		lo, hi := i*oc/cacheBlocks, (i+1)*oc/cacheBlocks
		part := m
		part.v = m.v[lo*m.step:]
		w.store(worker, lo, hi-lo, 0, c, part)
	})
}

// apart is byTiles for few products: each thread processes its own blocks of tiles and adds to its own products m,
// which are summed at the end.
func (w *winogradGradient[T]) apart(p *kernel.Pool, scratch kernel.Scratch[T], blocks int, m grid[T]) {
	c, oc, threads := w.x.all(), w.dy.all(), p.Threads()
	rows, all := w.n*w.x.down, blocks*threads
	per := kernel.CeilDiv(rows, all)
	v, d := newGroups[T](w.points(), per*w.x.across, c), newGroups[T](w.points(), per*w.x.across, oc)
	each := roundLanes(m.size + v.size + d.size + w.bands(per))
	rooms := kernel.Take(scratch, threads*each)
	p.Run(threads, func(_, t int) {
		m, v, d, room := m, v, d, rooms[t*each:][:each]
		m.v, room = cut(room, m.size)
		v.v, room = cut(room, v.size)
		d.v, room = cut(room, d.size)
		for i := range blocks {
			p.Check()
			lo, hi := (t*blocks+i)*rows/all, (t*blocks+i+1)*rows/all
			w.x.transform(w.winogradTile, lo, hi, 0, kernel.CeilDiv(c, winogradLanes), v, room)
			w.dy.transform(w.winogradTile, lo, hi, 0, kernel.CeilDiv(oc, winogradLanes), d, room)
			for u := range w.weightPoints() {
				w.multiply(u, 0, oc, 0, c, (hi-lo)*w.x.across, v, d, m, i > 0)
			}
		}
	})
	cacheBlocks := min(oc, threads)
	p.Run(cacheBlocks, func(worker, i int) {
		lo, hi := i*oc/cacheBlocks, (i+1)*oc/cacheBlocks
		for t := 1; t < threads; t++ {
			p.Check()
			for u := range w.weightPoints() {
				at, n := u*m.point+lo*m.step, (hi-lo)*m.step
				sum := rooms[at:][:n]
				elementwise.BinaryInto(elementwise.OpAdd, sum, sum, rooms[t*each+at:][:n])
			}
		}
		part := m
		part.v = rooms[lo*m.step:]
		w.store(worker, lo, hi-lo, 0, c, part)
	})
}

// byWeights transforms all tiles, then processes a group of output channels and a range of input channels at a time,
// so that the products and the tiles of x stay in a cache.
func (w *winogradGradient[T]) byWeights(p *kernel.Pool, scratch kernel.Scratch[T]) {
	c, oc := w.x.all(), w.dy.all()
	rows := w.n * w.x.down
	tiles := rows * w.x.across
	pair := (w.points()*tiles + w.weightPoints()*winogradLanes) * winogradPair
	wide := max(1, winogradKeep/pair) * winogradPair
	wide = kernel.CeilDiv(kernel.CeilDiv(c, kernel.CeilDiv(c, wide)), winogradPair) * winogradPair // blocks of equal width
	m := newGrid[T](w.weightPoints(), winogradLanes, wide)
	v, d, rooms, size := w.rooms(p, scratch, rows, m.size)
	w.transform(p, 0, rows, v, d, rooms, size)
	groups := kernel.CeilDiv(oc, winogradLanes)
	p.Run(kernel.CeilDiv(c, wide)*groups, func(worker, i int) {
		m := m
		m.v = rooms[worker*size:][:size]
		o, from := i%groups*winogradLanes, i/groups*wide
		n, end := min(winogradLanes, oc-o), min(c, from+wide)
		for u := range w.weightPoints() {
			w.multiply(u, o, n, from, end, tiles, v, d, m, false)
		}
		w.store(worker, o, n, from, end, m)
	})
}

// rooms allocates memory for the tiles of some tile rows and, for each thread, for a band and at least
// size elements.
func (w *winogradGradient[T]) rooms(p *kernel.Pool, scratch kernel.Scratch[T], rows, size int) (v, d grid[T], rooms []T, each int) {
	v, d = newGroups[T](w.points(), rows*w.x.across, w.x.all()), newGroups[T](w.points(), rows*w.x.across, w.dy.all())
	v.v, d.v = kernel.Take(scratch, v.size), kernel.Take(scratch, d.size)
	size = roundLanes(max(size, w.bands(rows)))
	return v, d, kernel.Take(scratch, p.Threads()*size), size
}

// bands returns the number of elements of a band of the given number of tile rows, of x or of dy.
func (w *winogradGradient[T]) bands(rows int) int {
	x, _ := w.x.band(w.winogradTile, min(rows, w.x.down))
	dy, _ := w.dy.band(w.winogradTile, min(rows, w.dy.down))
	return max(x, dy)
}

// transform sets v and d to the transformed tile rows lo to hi of x and dy.
func (w *winogradGradient[T]) transform(p *kernel.Pool, lo, hi int, v, d grid[T], rooms []T, size int) {
	groups := kernel.CeilDiv(w.x.all(), winogradLanes)
	p.Run(groups+kernel.CeilDiv(w.dy.all(), winogradLanes), func(worker, i int) {
		room := rooms[worker*size:][:size]
		if i < groups {
			w.x.transform(w.winogradTile, lo, hi, i, i+1, v, room)
		} else {
			w.dy.transform(w.winogradTile, lo, hi, i-groups, i-groups+1, d, room)
		}
	})
}

// multiply computes, or adds to, point u of the weight gradients in n rows of m, for the output channels from o on:
// the sum over tiles, and over the points that share these weights, for the input channels from up to end.
// o and from are the first channels of groups.
func (w *winogradGradient[T]) multiply(u, o, n, from, end, tiles int, v, d, m grid[T], add bool) {
	for q, of := range w.weightPoint {
		if of != u {
			continue
		}
		for c := from; c < end; c += winogradPair {
			colPanels := min(2, kernel.CeilDiv(end-c, winogradLanes))
			right := v.v[c/winogradLanes*v.group+q*v.point:]
			for i := 0; i < n; i += winogradLanes {
				left := d.v[(o+i)/winogradLanes*d.group+q*d.point:]
				to := m.v[u*m.point+i*m.step+c-from:]
				prefetch := [2]int{-i / winogradLanes * d.group, 2 * v.group}
				switch {
				case i+winogradLanes < n:
					prefetch = [2]int{d.group, 0}
				case c+winogradPair >= end: // another point follows
					prefetch = [2]int{prefetch[0] + d.point, v.point - (c-from)/winogradLanes*v.group}
				}
				pointProduct(true, colPanels, min(winogradLanes, n-i), tiles, left, d.step, right, right[(colPanels-1)*v.group:], v.step, to, m.step, add, prefetch)
			}
		}
		add = true
	}
}

// store writes the gradients of the weights of n output channels from o on and of the input channels from up to end.
func (w *winogradGradient[T]) store(worker, o, n, from, end int, m grid[T]) {
	c := w.x.all()
	for i := range n {
		gradients(w.winogradTile, end-from, m.v[i*m.step:], m.point, w.dw[((o+i)*c+from)*9:][:(end-from)*9], w.marks[worker*winogradLanes:])
	}
}
