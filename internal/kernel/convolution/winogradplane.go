package convolution

import "github.com/graft-ml/graft/internal/kernel"

// winogradPlanes are images of planes, high×wide, divided into down×across tiles per image, which start pad rows and columns before
// the first.
type winogradPlanes[T kernel.Float] struct {
	x []T
	winogradChannels
	high, wide   int
	pad          [2]int
	down, across int
	delta        bool // planes of dy: transformed by A rather than Bᵀ
}

// segment is a range of tile rows within one image.
type segment struct {
	image, row, rows int
	tile             int // index of the first tile
}

// segments calls f for the part of the tile rows lo to hi that is in each image.
func (s *winogradPlanes[T]) segments(lo, hi int, f func(segment)) {
	for first := lo; lo < hi; {
		g := segment{lo / s.down, lo % s.down, 0, (lo - first) * s.across}
		g.rows = min(hi-lo, s.down-g.row)
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
	pitch = max(s.pad[1]+kernel.CeilDiv(s.wide, 8)*8, s.across*step+reach-step)
	return (rows*step + reach - step) * pitch * winogradLanes, pitch
}

// transform writes to dst the transformed tiles of the tile rows lo to hi, for the channels from group*winogradLanes to
// end*winogradLanes; room has space for a band.
func (s *winogradPlanes[T]) transform(t *winogradTile, lo, hi, group, end int, dst grid[T], room []T) {
	reach, step := s.extent(t)
	plane := s.high * s.wide
	s.segments(lo, hi, func(g segment) {
		size, pitch := s.band(t, g.rows)
		b := band[T]{room[:size], pitch}
		high := g.rows*step + reach - step
		cleared, above, first, last, at, skip := -1, 0, 0, 0, 0, 0 // block for which the border is cleared, and where its pixels are
		for q := group; q < end; q++ {
			block, c := q*winogradLanes/s.each, q*winogradLanes%s.each
			if block != cleared {
				cleared, above = block, g.row*step-s.pad[0]+block/s.cols*3
				first = min(max(above, 0), above+high)
				last = max(first, min(above+high, s.high))
				left := s.pad[1] - block%s.cols*3
				at, skip = max(left, 0), min(max(-left, 0), s.wide)
				clear(b.row(0, 0)[:(first-above)*pitch*winogradLanes])
				b.clearAround(first-above, last-first, at, kernel.CeilDiv(s.wide-skip, 8)*8)
				clear(b.row(last-above, 0))
			}
			if last > first && skip < s.wide {
				x := s.x[(g.image*s.real+c)*plane+first*s.wide+skip:]
				b.transposeIn(last-first, s.wide-skip, first-above, at, s.real-c, x, s.wide, plane)
			}
			to := dst
			to.v = dst.v[g.tile*dst.step+q*dst.group:]
			if s.delta {
				deltas(t, g.rows, s.across, &b, to)
			} else {
				inputs(t, g.rows, s.across, &b, to)
			}
		}
	})
}
