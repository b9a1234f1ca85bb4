package kernel

import (
	"fmt"
	"math"
	"testing"
)

func TestClipGrad(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, n := range []int{1, 7, 8, 33, 100} {
		x, dy := random[float32](n, 1), random[float32](n, 2)
		x[0] = []float32{nan, inf, -inf, 0.25, -0.25}[n%5]
		lo, hi := float32(-0.25), float32(0.25)
		got := make([]float32, n)
		ClipGrad(nil, got, dy, x, lo, hi)
		for i, v := range x {
			want := dy[i]
			if v < lo || v > hi {
				want = 0
			}
			if got[i] != want {
				t.Errorf("n=%d: gradient at %v is %v, want %v", n, v, got[i], want)
			}
		}
	}
}

func TestAffine(t *testing.T) {
	for _, n := range []int{1, 8, 31, 77} {
		x, y := random[float32](n, 1), random[float32](n, 2)
		got, got2 := make([]float32, n), make([]float32, n)
		want, want2 := make([]float32, n), make([]float32, n)
		affine(got, x, 1.5, -2)
		affine2(got2, x, y, 1.5, 0.5, -2)
		for i := range x {
			want[i], want2[i] = x[i]*1.5-2, x[i]*1.5+y[i]*0.5-2
		}
		near(t, fmt.Sprint("affine ", n), got, want, 1e-6)
		near(t, fmt.Sprint("affine2 ", n), got2, want2, 1e-6)
	}
}
