package convolution

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// unusual replaces some elements by what arithmetic treats specially.
func unusual(x []float32) []float32 {
	for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e-42} {
		if at := (i*7 + 3) * len(x) / 31; at < len(x) {
			x[at] = float32(v)
		}
	}
	return x
}

// The kernels of tiles and their portable forms compute the same, row by row and column by column.
func TestTileKernels(t *testing.T) {
	const k, ld = 37, 3 * 16
	off := make([]int32, k+tilePrefetch)
	for i := range off[:k] {
		off[i] = int32(i*13%29 + 64*(i%5))
	}
	off = off[:k]
	a, b := kerneltest.Random[float32](3*tileRows*k, 1), unusual(kerneltest.Random[float32](600, 2))
	shift := kerneltest.Random[float32](tileRows, 3)
	for _, clip := range []*[2]float32{nil, {-0.5, 1}} {
		for rows := 1; rows <= tileRows; rows++ {
			for n := 1; n <= 3*tileLanes(); n++ {
				count := 1 // as many side by side as there is room for
				if n%tileLanes() == 0 {
					count = ld / n
				}
				for _, step := range []int{tileRows, 2*tileRows + 3} {
					got, want := make([]float32, maxTile), make([]float32, maxTile)
					tiles(count, rows, n, a, step, b, off, got, ld, shift, clip, nil)
					tileGo(rows, count*n, a, step, b, off, want, ld, shift, clip)
					for r := range rows {
						same(t, fmt.Sprint(rows, n, step, clip, r), got[r*ld:][:count*n], want[r*ld:][:count*n], 1e-5)
					}
				}
			}
		}
	}
}

func TestStoreRuns(t *testing.T) {
	const rows, ld, ldy = 5, 48, 200
	runs := []tileRun{{0, 1, 3}, {2, 7, 9}, {10, 8, 20}, {19, 29, 60}}
	src, add := kerneltest.Random[float32](maxTile, 1), unusual(kerneltest.Random[float32](rows*ldy, 2))
	clip := &[2]float32{-0.25, 0.75}
	for name, f := range map[string]func(y []float32){
		"store": func(y []float32) { store(rows, src, ld, runs, y, ldy, nil, nil) },
		"add":   func(y []float32) { store(rows, src, ld, runs, y, ldy, add, clip) },
		"spread2": func(y []float32) {
			spread(rows, src, ld, runs[:1], y, ldy, 2)
			spread(rows, src, ld, runs[3:], y, ldy, 2)
		},
		"spread3": func(y []float32) { spread(rows, src, ld, runs[3:], y, ldy, 3) },
	} {
		got, want := kerneltest.Random[float32](rows*ldy+ldy, 4), kerneltest.Random[float32](rows*ldy+ldy, 4)
		f(got)
		kerneltest.Portably(func() { f(want) })
		same(t, name, got, want, 0)
	}
}

func TestWeightKernels(t *testing.T) {
	off := []int32{0, 5, 1, 77, 30, 2}
	x := unusual(kerneltest.Random[float32](800, 1))
	for _, c := range []struct{ images, rows, n int }{{1, 1, 1}, {1, 3, 4}, {2, 3, 5}, {3, 1, 17}} {
		for w := tileLanes(); w <= weightPanel(); w += tileLanes() {
			b := kerneltest.Random[float32](c.images*c.rows*c.n*w, 2)
			for _, add := range []bool{false, true} {
				got, want := kerneltest.Random[float32](weightRows*80, 3), kerneltest.Random[float32](weightRows*80, 3)
				weightTile(c.images, c.rows, c.n, x, off, 3, 11, b, w, got, 80, add, nil)
				weightTileGo(c.images, c.rows, c.n, x, off, 3, 11, b, w, want, 80, add)
				same(t, fmt.Sprint(c, w, add), got, want, 1e-5)
			}
		}
	}
}

func TestDepthKernels(t *testing.T) {
	off := []int32{0, 1, 2, 20, 21, 22, 40, 41, 42}
	x, w := unusual(kerneltest.Random[float32](600, 1)), kerneltest.Random[float32](9, 2)
	for _, clip := range []*[2]float32{nil, {0, 6}} {
		for n := 1; n < 300; n += 1 + n/16 {
			f := func(y []float32) { tapsOf(n, x, off, w, y, 0.5, clip) }
			got, want := make([]float32, n+slack), make([]float32, n+slack)
			f(got)
			kerneltest.Portably(func() { f(want) })
			same(t, fmt.Sprint("tapsOf ", n), got[:n], want[:n], 1e-5)
		}
	}
	y := kerneltest.Random[float32](400, 3)
	for n := 1; n < 40; n++ {
		at := part{images: 2, rows: 3, cols: n}
		f := func(sum []float32) { addTapSums(at, x, off, 43, 150, y, 41, 140, sum) }
		got, want := kerneltest.Random[float32](9, 5), kerneltest.Random[float32](9, 5)
		f(got)
		kerneltest.Portably(func() { f(want) })
		same(t, fmt.Sprint("addTapSums ", n), got, want, 1e-4)
	}
}

// same compares within a relative tolerance; NaN and infinities must be equal.
func same(t *testing.T, what string, got, want []float32, tol float64) {
	t.Helper()
	for i, v := range want {
		g, w := float64(got[i]), float64(v)
		if g == w || math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= tol*(1+math.Abs(w)) {
			continue
		}
		t.Fatalf("%s: element %d is %v, want %v", what, i, g, w)
	}
}

// TestPickAndStretch checks that points of planes are gathered, and scattered between zeros, for rows
// of all short lengths.
func TestPickAndStretch(t *testing.T) {
	const planes, rows = 3, 2
	for n := 1; n < 40; n++ {
		for _, step := range []int{1, 2, 3, 4, 16} {
			row := (n-1)*step + 1 // nothing after the last
			for _, gap := range []int{0, 5} {
				plane := rows*(row+gap) + 2*gap
				src := unusual(kerneltest.Random[float32]((planes-1)*plane+(rows-1)*(row+gap)+row, 1))
				f := func(dst []float32) { pick(planes, rows, n, src, plane, row+gap, step, dst, rows*(n+gap)+gap, n+gap) }
				got, want := kerneltest.Random[float32](planes*(rows*(n+gap)+gap), 2), kerneltest.Random[float32](planes*(rows*(n+gap)+gap), 2)
				f(got)
				kerneltest.Portably(func() { f(want) })
				same(t, fmt.Sprint("pick ", n, step, gap), got, want, 0)
			}
		}
		if !kernel.Has(kernel.ConvGroup) {
			continue
		}
		src, got := unusual(kerneltest.Random[float32](planes*rows*n, 3)), kerneltest.Random[float32](4*planes*rows*n, 4)
		want, sum := make([]float32, len(got)), slices.Clone(got)
		for i, v := range src {
			at := i/n*4*n + i%n*2
			want[at] = v
			sum[at] += v
		}
		stretch(planes, rows, n, src, got)
		same(t, fmt.Sprint("stretch ", n), got, want, 0)
		got = kerneltest.Random[float32](4*planes*rows*n, 4)
		addStretch(planes, rows, n, src, got)
		same(t, fmt.Sprint("add stretched ", n), got, sum, 0)
	}
}

// TestInterleave checks that phases are interleaved correctly, and that nothing else is written.
func TestInterleave(t *testing.T) {
	const channels, ld = 3, 48
	for phases := 1; phases <= 10; phases++ {
		src := unusual(kerneltest.Random[float32](phases*channels*ld+8, 1))
		for count := 1; count <= min(ld, 40)*phases; count += 1 + count/17 {
			ldy := count + 9
			got, want := kerneltest.Random[float32](channels*ldy, 2), kerneltest.Random[float32](channels*ldy, 2)
			for c := range channels {
				for i := range count {
					want[c*ldy+i] = src[(i%phases*channels+c)*ld+i/phases]
				}
			}
			interleave(channels, phases, count, src, ld, got, ldy)
			same(t, fmt.Sprint("interleave ", phases, count), got, want, 0)
		}
	}
}
