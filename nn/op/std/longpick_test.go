package std

import (
	"math"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
)

// TestLongPicks: the largest element of a row that is searched in parts, the first of equal ones, the first NaN, and the highest ranks.
func TestLongPicks(t *testing.T) {
	const n = 2*kernel.LongRow + 3
	nan := float32(math.NaN())
	for _, c := range []struct {
		set  map[int]float32
		want int
	}{
		{nil, 0}, {map[int]float32{n - 1: 2}, n - 1}, {map[int]float32{7: 2, n - 1: 2}, 7}, {map[int]float32{kernel.LongRow: 2, n - 1: 3}, n - 1},
		{map[int]float32{5: 3, kernel.LongRow + 1: nan, n - 1: nan}, kernel.LongRow + 1}, {map[int]float32{5: nan, n - 1: 9}, 5},
	} {
		row := make([]float32, n)
		for i, v := range c.set {
			row[i] = v
		}
		if got := largestAt(nil, row); got != c.want {
			t.Errorf("%v: at %d", c.set, got)
		}
	}
	ranks := make([]int64, n)
	ranks[n-1], ranks[kernel.LongRow+1], ranks[3] = 9, 8, 8
	for _, want := range [][]int{{n - 1}, {n - 1, 3, kernel.LongRow + 1, 0}} {
		best := make([]int, len(want))
		if highest(nil, best, ranks); !slices.Equal(best, want) {
			t.Errorf("the highest are at %v, not %v", best, want)
		}
	}
}
