package matmul

import (
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
)

// TestLongVector: the product of a vector that is computed in parts with a matrix of three columns, as it is and transposed.
func TestLongVector(t *testing.T) {
	const n, k = 3, kernel.LongRow + 9
	a, b := make([]float32, k), make([]float32, n*k)
	want := [2][n]float64{}
	for l := range k {
		a[l] = float32(l%3) - 1
	}
	for i := range b {
		b[i] = float32(i%4) - 1
		want[0][i%n] += float64(a[i/n]) * float64(b[i])
		want[1][i/k] += float64(a[i%k]) * float64(b[i])
	}
	for trans, want := range want {
		c, ldb := make([]float32, n), n
		if trans == 1 {
			ldb = k
		}
		Gemm(nil, false, trans == 1, 1, n, k, 1, a, k, b, ldb, 0, c, n)
		for j, v := range want {
			if d := float64(c[j]) - v; d*d > 1e-4*k {
				t.Errorf("transposed %d, column %d: %v, want %v", trans, j, c[j], v)
			}
		}
	}
}
