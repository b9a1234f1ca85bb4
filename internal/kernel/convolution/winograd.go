package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// winograd is a convolution, or its gradient with respect to the input, by Winograd's algorithm; see winogradTile.
//
// Pixels are transposed to channels-last order, one band of rows at a time, so that the transforms process one
// channel per vector lane and need not handle borders. For each of the tile's points, the transformed inputs
// and weights are multiplied as matrices [tile, input channel] × [input channel, output channel].
type winograd[T kernel.Float] struct {
	*winogradTile
	in     winogradPlanes[T]
	taps   winogradTaps[T]
	n      int // images
	oc     int
	high   int // rows of the output
	wide   int
	imageY int // image stride of y
	y      []T
	e      elementwise.Epilogue[T]
	// one mark for each worker: 0 until a value is infinite or NaN.
	marks []T
}

// Sizes of blocks, in elements unless noted, chosen so that a block stays in the L2 cache.
const (
	winogradBlock = 5 << 14 // transformed tiles
	winogradLeast = 32      // minimum number of tiles in a block, regardless of the number of channels
	winogradFew   = 80      // maximum number of tiles for which the transformed weights are not kept
	winogradDepth = 64      // number of input channels whose weights are transformed together then
	winogradPair  = 2 * winogradLanes
)

// run computes y and reports whether all values are finite. If not, y may have NaN in place of infinities, since
// the transforms subtract them; the caller must compute it differently.
func (w *winograd[T]) run(p *kernel.Pool, scratch kernel.Scratch[T]) bool {
	w.marks = newMarks(p, scratch)
	if w.tiles() < max(w.oc, winogradFew) {
		w.byWeights(p, scratch)
	} else {
		w.byTiles(p, scratch)
	}
	return allFinite(w.marks)
}

// newMarks returns zero marks for all workers.
func newMarks[T kernel.Float](p *kernel.Pool, scratch kernel.Scratch[T]) []T {
	marks := kernel.Take(scratch, p.Threads()*winogradLanes)
	clear(marks)
	return marks
}

// tiles returns the number of tiles of all images.
func (w *winograd[T]) tiles() int { return w.n * w.in.down * w.in.across }

// byTiles transforms all weights, then processes one block of tiles at a time, from input to output pixels.
func (w *winograd[T]) byTiles(p *kernel.Pool, scratch kernel.Scratch[T]) {
	threads := p.Threads()
	rows := w.n * w.in.down
	per := max(kernel.CeilDiv(winogradLeast, w.in.across), winogradBlock/(w.points()*w.in.across*roundLanes(w.in.all())))
	blocks := kernel.CeilDiv(rows, per)
	blocks = min(rows, kernel.CeilDiv(blocks, threads)*threads)
	per = kernel.CeilDiv(rows, blocks)

	k := w.in.all()
	colPanels := kernel.CeilDiv(w.oc, winogradLanes)
	point := colPanels*k*winogradLanes + winogradLanes
	u := kernel.Take(scratch, w.weightPoints()*point)
	cacheBlocks := kernel.CeilDiv(k, winogradDepth)
	p.Run(colPanels*cacheBlocks, func(_, i int) {
		colPanel, from := i/cacheBlocks, i%cacheBlocks*winogradDepth
		w.taps.weights(w.winogradTile, colPanel*winogradLanes, from, min(winogradDepth, k-from), u[(colPanel*k+from)*winogradLanes:], point)
	})
	v, m := newGrid[T](w.points(), per*w.in.across, k), newGrid[T](w.points(), per*w.in.across, winogradPair)
	size := v.size + m.size + w.bands(per)
	size = roundLanes(size)
	rooms := kernel.Take(scratch, size*threads)
	p.Run(blocks, func(worker, i int) {
		lo, hi := i*rows/blocks, (i+1)*rows/blocks
		room := rooms[worker*size:][:size]
		v, m := v, m
		v.v, room = cut(room, v.size)
		m.v, room = cut(room, m.size)
		w.in.transform(w.winogradTile, lo, hi, 0, kernel.CeilDiv(k, winogradLanes), v, room)
		for s := 0; s < colPanels; s += 2 {
			p.Check()
			n := min(2, colPanels-s)
			place := func(q, s int) int { return w.weightPoint[q]*point + s*k*winogradLanes }
			for q := range w.points() {
				at, next := place(q, s), place(0, s+n)
				if q+1 < w.points() {
					next = place(q+1, s)
				}
				right := u[at:]
				pointProduct(false, n, (hi-lo)*w.in.across, k, v.v[q*v.point:], v.step, right, right[(n-1)*k*winogradLanes:], winogradLanes, m.v[q*m.point:], m.step, false, [2]int{v.point, next - at})
			}
			w.store(worker, lo, hi, s, n, m, room)
		}
	})
}

// byWeights transforms all tiles, then processes two column panels of output channels at a time, from weights to
// output pixels, so that large weights are read once. The output channels or, if there are few, the tiles are
// divided among the threads.
func (w *winograd[T]) byWeights(p *kernel.Pool, scratch kernel.Scratch[T]) {
	threads, tiles := p.Threads(), w.tiles()
	rows := w.n * w.in.down
	k := w.in.all()
	v, m := newGrid[T](w.points(), tiles, k), newGrid[T](w.points(), tiles, winogradPair)
	v.v = kernel.Take(scratch, v.size+productRows*v.step) // the product of the last tiles reads up to productRows rows beyond them
	depth := min(winogradDepth, k)
	point := winogradPair*depth + winogradLanes
	size := m.size + w.weightPoints()*point
	size = roundLanes(size + w.bands(w.in.down))
	rooms := kernel.Take(scratch, size*threads)
	groups, pairs := kernel.CeilDiv(k, winogradLanes), kernel.CeilDiv(w.oc, winogradPair)
	transform := func(worker, lo, hi, group, end int) {
		v := v
		v.v = v.v[lo*w.in.across*v.step:]
		w.in.transform(w.winogradTile, lo, hi, group, end, v, rooms[worker*size:][:size])
	}
	multiply := func(worker, lo, hi, i int) {
		room := rooms[worker*size:][:size]
		m := m
		m.v, room = cut(room, m.size)
		u, room := cut(room, w.weightPoints()*point)
		colPanels := min(2, kernel.CeilDiv(w.oc-i*winogradPair, winogradLanes))
		for from := 0; from < k; from += depth {
			p.Check()
			kc := min(depth, k-from)
			for s := range colPanels {
				w.taps.weights(w.winogradTile, i*winogradPair+s*winogradLanes, from, kc, u[s*kc*winogradLanes:], point)
			}
			for q := range w.points() {
				left, right := v.v[q*v.point+lo*w.in.across*v.step+from:], u[w.weightPoint[q]*point:]
				pointProduct(false, colPanels, (hi-lo)*w.in.across, kc, left, v.step, right, right[(colPanels-1)*kc*winogradLanes:], winogradLanes, m.v[q*m.point:], m.step, from > 0, [2]int{v.point, point})
			}
		}
		w.store(worker, lo, hi, 2*i, colPanels, m, room)
	}
	if w.sharesTiles(threads) {
		p.Run(threads, func(worker, t int) {
			lo, hi := t*rows/threads, (t+1)*rows/threads
			transform(worker, lo, hi, 0, groups)
			for i := range pairs {
				p.Check()
				multiply(worker, lo, hi, i)
			}
		})
		return
	}
	p.Run(groups, func(worker, i int) { transform(worker, 0, rows, i, i+1) })
	p.Run(pairs, func(worker, i int) { multiply(worker, 0, rows, i) })
}

// sharesTiles reports whether dividing the tiles among threads, each of which transforms all weights, costs less than
// dividing the pairs of column panels.
func (w *winograd[T]) sharesTiles(threads int) bool {
	const weights = 10 // cost of transforming the weights, in tiles; see winogradFor
	rows, colPanels := w.n*w.in.down, kernel.CeilDiv(w.oc, winogradLanes)
	if threads == 1 || rows < threads {
		return false
	}
	some := min(colPanels, 2*kernel.CeilDiv(kernel.CeilDiv(colPanels, 2), threads))
	return colPanels*(kernel.CeilDiv(rows, threads)*w.in.across+weights) < some*(w.tiles()+weights)
}

// cut splits room after n elements.
func cut[T kernel.Float](room []T, n int) (first, rest []T) { return room[:n:n], room[n:] }

// bands returns the number of elements of a band of the given rows of tiles, of the input or of the output.
func (w *winograd[T]) bands(rows int) int {
	size, _ := w.in.band(w.winogradTile, rows)
	return max(size, rows*w.m*w.outPitch()*winogradLanes)
}

func (w *winograd[T]) outPitch() int { return kernel.CeilDiv(w.in.across*w.m, 8) * 8 }

// store transforms column panels of products, from panel first on, to output pixels.
func (w *winograd[T]) store(worker, lo, hi, first, colPanels int, m grid[T], room []T) {
	plane := w.high * w.wide
	w.in.segments(lo, hi, func(g segment) {
		b := band[T]{room, w.outPitch()}
		above := g.row * w.m
		rows := min(g.rows*w.m, w.high-above)
		for s := range colPanels {
			c := (first + s) * winogradLanes
			n := min(winogradLanes, w.oc-c)
			outputs(w.winogradTile, g.rows, w.in.across, grid[T]{v: m.v[g.tile*m.step+s*winogradLanes:], point: m.point, step: m.step}, &b, w.marks[worker*winogradLanes:])
			at := g.image*w.imageY + c*plane + above*w.wide
			b.transposeOut(rows, w.wide, n, w.y[at:], w.wide, plane)
			if !w.e.IsNone() {
				for i := range n {
					w.e.Row(w.y[at+i*plane:][:rows*w.wide], c+i, at+i*plane)
				}
			}
		}
	})
}
