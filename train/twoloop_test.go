package train

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The direction of L-BFGS keeps the secant equation, H·y = s, of the last pair, and of all pairs where these are conjugate; without
// pairs it is the steepest descent.
func TestTwoLoop(t *testing.T) {
	const n = 5
	r := rand.New(rand.NewPCG(3, 4))
	equal := func(name string, got, minus []float64) {
		t.Helper()
		for i := range got {
			if math.Abs(got[i]+minus[i]) > 1e-9 {
				t.Errorf("%s: element %d is %v, want %v", name, i, got[i], -minus[i])
			}
		}
	}
	hessian := []float64{0.5, 2, 3, 7, 20}
	var s, y [][]float64
	for range n {
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			a[i] = r.NormFloat64()
			b[i] = hessian[i] * a[i]
		}
		s, y = append(s, a), append(y, b)
		equal("last pair", twoLoop(b, s, y), a)
	}
	s, y = nil, nil
	for i, h := range hessian {
		a, b := make([]float64, n), make([]float64, n)
		a[i], b[i] = 1.5, 1.5*h
		s, y = append(s, a), append(y, b)
	}
	for i := range s {
		equal("conjugate pairs", twoLoop(y[i], s, y), s[i])
	}
	equal("no pair", twoLoop(hessian, nil, nil), hessian)
}
