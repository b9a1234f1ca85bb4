package convolution

import (
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
)

// TestDirectPlanCuts: the runs of all blocks name each output point once, at the place where the layout has it, however
// rows and columns are cut; blocks that are copied as well as those read in the input.
func TestDirectPlanCuts(t *testing.T) {
	grid, images := Triple{1, 7, 110}, 2
	for _, c := range []struct {
		rows, cols, images int
		inPlace, below     bool
	}{{7, 110, 2, false, false}, {7, 110, 2, false, true}, {3, 110, 1, false, false}, {3, 40, 1, false, true}, {3, 55, 1, true, true}, {1, 55, 1, true, true}, {2, 110, 1, true, true}} {
		var s directPlan
		var w directWorker
		taps := []Triple{{}}
		l := &s.layout
		l.describe(grid, Triple{1, 1, 1}, taps)
		s.rows, s.cols, s.images, s.inPlace = c.rows, c.cols, c.images, c.inPlace
		l.cut(c.images, c.rows, c.cols, c.cols == grid[2], c.below, taps)
		if c.inPlace {
			l.readInPlace()
		}
		s.cuts = Triple{1, kernel.CeilDiv(grid[1], s.rows), kernel.CeilDiv(grid[2], s.cols)}
		written := make([]int, images*grid.Size())
		for cacheBlock := range kernel.CeilDiv(images, s.images) * s.cuts.Size() {
			p := s.part(cacheBlock, images, grid)
			w.plan(l, p, tileWidth, Triple{grid.Size(), grid[2], 1}, grid.Size(), c.inPlace)
			seen := map[int]bool{} // with exact set, tiles may write a point twice
			for i, tile := range w.tiles[:len(w.tiles)-1] {
				for _, r := range w.of(i) {
					for j := range r.n {
						to, at := r.to+j, tile.at+r.from+j
						if image, row, x := l.point(at); to != image*grid.Size()+row*grid[2]+x {
							t.Fatalf("%+v: column %d of piece %d goes to %d", c, at, cacheBlock, to)
						}
						if !seen[to] {
							written[p.image*grid.Size()+p.y*grid[2]+p.x+to]++
						}
						seen[to] = true
					}
				}
			}
		}
		for i, n := range written {
			if n != 1 {
				t.Fatalf("%+v: point %d is in %d pieces", c, i, n)
			}
		}
	}
}
