package convolution

import "github.com/graft-ml/graft/internal/kernel"

// winogradPlanes are images of channels planes, high×wide, divided into rows×cols tiles per image, which start
// pad rows and columns before the first.
type winogradPlanes[T kernel.Float] struct {
	x          []T
	channels   int
	high, wide int
	pad        [2]int
	rows, cols int
	delta      bool // planes of dy: transformed by A rather than Bᵀ
}

// segment is a range of tile rows within one image.
type segment struct {
	image, row, rows int
	tile             int // index of the first tile
}

// segments calls f for the part of the tile rows lo to hi that is in each image.
func (s *winogradPlanes[T]) segments(lo, hi int, f func(segment)) {
	for first := lo; lo < hi; {
		g := segment{lo / s.rows, lo % s.rows, 0, (lo - first) * s.cols}
		g.rows = min(hi-lo, s.rows-g.row)
		lo += g.rows
		f(g)
	}
}

// extent returns the number of pixels that a tile reads in each dimension, and the step from tile to tile.
func (s *winogradPlanes[T]) extent(t *winogradTile) (reach, step int) {
	if s.delta {
		return t.m, t.m
	}
	return t.reach, t.step
}

// band returns the number of elements, and the row pitch in pixels, of a band for the given number of rows of tiles.
func (s *winogradPlanes[T]) band(t *winogradTile, rows int) (size, pitch int) {
	reach, step := s.extent(t)
	pitch = max(s.pad[1]+kernel.CeilDiv(s.wide, 8)*8, s.cols*step+reach-step)
	return (rows*step + reach - step) * pitch * winogradLanes, pitch
}

// transform writes to dst the transformed tiles of the tile rows lo to hi, for the channels from group*winogradLanes to
// end*winogradLanes; room has space for a band.
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
