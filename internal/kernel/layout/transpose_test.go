package layout

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

func testTranspose[E comparable](t *testing.T, make1 func(i int) E) {
	cases := []struct{ shape, perm []int }{
		{[]int{}, []int{}}, {[]int{5}, []int{0}}, {[]int{3, 4}, []int{1, 0}}, {[]int{70, 90}, []int{1, 0}}, {[]int{2, 3, 4}, []int{0, 2, 1}},
		{[]int{2, 3, 4}, []int{2, 0, 1}}, {[]int{2, 3, 4}, []int{1, 0, 2}}, {[]int{2, 3, 4, 5}, []int{3, 1, 0, 2}}, {[]int{2, 40, 1, 35}, []int{0, 3, 2, 1}},
		{[]int{2, 3, 4, 5}, []int{0, 1, 2, 3}}, {[]int{3, 0, 2}, []int{2, 1, 0}}, {[]int{4, 5, 40, 33}, []int{2, 0, 3, 1}}, {[]int{8, 64, 12, 32}, []int{0, 2, 1, 3}},
		{[]int{3, 2, 3, 2, 3}, []int{4, 3, 2, 1, 0}}, {[]int{4099, 35}, []int{1, 0}}, {[]int{2, 8195, 9}, []int{0, 2, 1}},
	}
	for name, p := range kerneltest.Pools(t) {
		for _, c := range cases {
			src := make([]E, kerneltest.Product1(c.shape))
			for i := range src {
				src[i] = make1(i)
			}
			got := make([]E, len(src))
			Transpose(p, got, src, c.shape, c.perm)
			out := make([]int, len(c.shape))
			for d, q := range c.perm {
				out[d] = c.shape[q]
			}
			for i := range got {
				at := make([]int, len(out))
				for d, rest := len(out)-1, i; d >= 0; d-- {
					at[c.perm[d]] = rest % out[d]
					rest /= out[d]
				}
				from := 0
				for d, s := range c.shape {
					from = from*s + at[d]
				}
				if got[i] != src[from] {
					t.Fatalf("%s: Transpose%v: element %d is %v, want %v", name, c, i, got[i], src[from])
				}
			}
		}
	}
}

func TestTranspose(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testTranspose(t, func(i int) float32 { return float32(i) }) })
	t.Run("int64", func(t *testing.T) { testTranspose(t, func(i int) int64 { return int64(i) }) })
	t.Run("byte", func(t *testing.T) { testTranspose(t, func(i int) byte { return byte(i) }) })
	t.Run("string", func(t *testing.T) { testTranspose(t, func(i int) string { return fmt.Sprint(i) }) })
}

func TestAssemblyTranspose(t *testing.T) {
	for _, s := range [][2]int{{1, 1}, {8, 8}, {7, 9}, {33, 40}, {70, 17}} {
		x := kerneltest.Small(s[0]*s[1], 1, 5)
		kerneltest.Against(t, fmt.Sprint("Transpose ", s), len(x), 0, func(z []float32) { Transpose(nil, z, x, s[:], []int{1, 0}) })
	}
}

// TestTransposeNarrow runs the same tests with the assembly for older processors.
func TestTransposeNarrow(t *testing.T) {
	kerneltest.Narrower(t, map[string]func(*testing.T){
		"Transpose": TestTranspose,
	})
}
