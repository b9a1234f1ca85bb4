package convolution

import "github.com/graft-ml/graft/internal/kernel"

// winogradPlanes are images of channels planes, high×wide, that are cut into tiles (rows×cols of them in
// an image) starting pad before the first row and column.
type winogradPlanes[T kernel.Float] struct {
	x          []T
	channels   int
	high, wide int
	pad        [2]int
	rows, cols int
	delta      bool // transform as gradients of outputs
}

// segment is rows of tiles of an image.
type segment struct {
	image, row, rows int
	tile             int // index of the first tile
}

// segments cuts the tile rows lo to hi of all images into pieces of one image each.
func (s *winogradPlanes[T]) segments(lo, hi int, f func(segment)) {
	for first := lo; lo < hi; {
		g := segment{lo / s.rows, lo % s.rows, 0, (lo - first) * s.cols}
		g.rows = min(hi-lo, s.rows-g.row)
		lo += g.rows
		f(g)
	}
}

// extent returns how many pixels a tile reads in each dimension, and how many there are to the next.
func (s *winogradPlanes[T]) extent(t *winogradTile) (reach, step int) {
	if s.delta {
		return t.m, t.m
	}
	return t.reach, t.step
}

// band returns the size of the band that rows of tiles need.
func (s *winogradPlanes[T]) band(t *winogradTile, rows int) (size, pitch int) {
	reach, step := s.extent(t)
	pitch = max(s.pad[1]+kernel.CeilDiv(s.wide, 8)*8, s.cols*step+reach-step)
	return (rows*step + reach - step) * pitch * winogradLanes, pitch
}

// transform sets the tiles of tile rows lo to hi, and of channels from group*winogradLanes to less
// than end*winogradLanes, in dst; room is for a band.
func (s *winogradPlanes[T]) transform(t *winogradTile, lo, hi, group, end int, dst grid[T], room []T) {
	reach, step := s.extent(t)
	s.segments(lo, hi, func(g segment) {
		size, pitch := s.band(t, g.rows)
		b := band[T]{room[:size], pitch}
		above := g.row*step - s.pad[0]
		first, last := max(above, 0), min(above+g.rows*step+reach-step, s.high)
		last = max(first, last)
		clear(b.row(0, 0)[:(first-above)*pitch*winogradLanes])
		b.clearAround(first-above, last-first, s.pad[1], kernel.CeilDiv(s.wide, 8)*8)
		clear(b.row(last-above, 0))
		for q := group; q < end; q++ {
			c := q * winogradLanes
			if last > first {
				plane := s.high * s.wide
				x := s.x[(g.image*s.channels+c)*plane+first*s.wide:]
				b.transposeIn(last-first, s.wide, first-above, s.pad[1], s.channels-c, x, s.wide, plane)
			}
			to := dst
			to.v = dst.v[g.tile*dst.step+q*dst.group:]
			if s.delta {
				deltas(t, g.rows, s.cols, &b, to)
			} else {
				inputs(t, g.rows, s.cols, &b, to)
			}
		}
	})
}
