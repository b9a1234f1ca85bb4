package std

import (
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/nn/op"
)

func transformed(t *testing.T, x []complex128, inverse bool) []complex128 {
	f, err := newFFT(&op.Call{}, nil, len(x))
	if err != nil {
		t.Fatal(err)
	}
	defer f.release()
	copy(f.line, x)
	return f.transform(inverse)
}

// TestFourierOfPrimes: lengths without small factors give what the sum says, and take about as long as others.
func TestFourierOfPrimes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{67, 101, 67 * 71, 2 * 127, 4099} {
		x := make([]complex128, n)
		for i := range x {
			x[i] = complex(r.NormFloat64(), r.NormFloat64())
		}
		for _, inverse := range []bool{false, true} {
			sign, scale := -1.0, 1.0
			if inverse {
				sign, scale = 1, 1/float64(n)
			}
			got := transformed(t, x, inverse)
			for _, k := range []int{0, 1, n / 3, n - 1} {
				want := complex(0, 0)
				for j, v := range x {
					want += v * cmplx.Rect(scale, sign*2*3.141592653589793*float64(j*k%n)/float64(n))
				}
				if d := cmplx.Abs(got[k] - want); d > 1e-10*float64(n)*scale {
					t.Errorf("%d points, inverse %v, element %d: %v, want %v", n, inverse, k, got[k], want)
				}
			}
		}
	}
	x := make([]complex128, 100003)
	x[1] = 1
	if y := transformed(t, x, false); cmplx.Abs(y[7]-cmplx.Rect(1, -2*3.141592653589793*7/100003)) > 1e-9 {
		t.Error(y[7])
	}
}
