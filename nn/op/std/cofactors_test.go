package std

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestCofactors compares with minors in exact arithmetic, for matrices of every rank and of elements of every size.
func TestCofactors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := 1; n <= 7; n++ {
		for rank := range n + 1 {
			t.Run(fmt.Sprintf("%d of %d", rank, n), func(t *testing.T) { checkCofactors(t, n, ofRank(r, n, rank)) })
		}
	}
	for name, m := range map[string][]float64{
		"zeros on the diagonal": {0, 2, 0, 0, 0, 3, 5, 0, 0},
		"far below 1":           {1e200, 0, 0, 0, 0, 1e200, 0, 0, 0, 0, 1e-200, 0, 0, 0, 0, 1e-200},
		"beyond the range":      {1e200, 0, 0, 0, 0, 1e200, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"subnormal":             {5e-324, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) { checkCofactors(t, int(math.Sqrt(float64(len(m)))), m) })
	}
}

// ofRank returns the product of random integer matrices [n, rank] and [rank, n].
func ofRank(r *rand.Rand, n, rank int) []float64 {
	m := make([]float64, n*n)
	for range rank {
		left, right := make([]float64, n), make([]float64, n)
		for i := range n {
			left[i], right[i] = float64(r.IntN(9)-4), float64(r.IntN(9)-4)
		}
		for i := range m {
			m[i] += left[i/n] * right[i%n]
		}
	}
	return m
}

func checkCofactors(t *testing.T, n int, a []float64) {
	exact := make([]*big.Rat, len(a))
	largest := 0.0 // what rounding the elements of a can change is relative to products of n-1 of them
	for i, v := range a {
		exact[i] = new(big.Rat).SetFloat64(v)
		largest = max(largest, math.Abs(v))
	}
	c := &cofactors{n: n, m: append([]float64(nil), a...), pivots: make([]float64, n), rows: make([]int, n), columns: make([]int, n)}
	seen := 0
	c.of(nil, func(i, j int, got float64) {
		seen++
		var minor []*big.Rat
		for k, v := range exact {
			if k/n != i && k%n != j {
				minor = append(minor, v)
			}
		}
		want, _ := exactDet(minor, n-1).Float64()
		if (i+j)%2 == 1 {
			want = -want
		}
		tolerance := 1e-14 * math.Abs(want)
		if largest < 1e6 {
			tolerance += 1e-14 * math.Pow(largest*float64(n), float64(n-1))
		}
		if !(math.Abs(got-want) <= tolerance) && got != want {
			t.Errorf("cofactor %d, %d of %v: %v, want %v", i, j, a, got, want)
		}
	})
	if seen != n*n {
		t.Errorf("%d cofactors, want %d", seen, n*n)
	}
}

// exactDet expands the determinant of m [n, n] along its first row.
func exactDet(m []*big.Rat, n int) *big.Rat {
	if n == 0 {
		return big.NewRat(1, 1)
	}
	sum := new(big.Rat)
	for j := range n {
		if m[j].Sign() == 0 {
			continue
		}
		var minor []*big.Rat
		for k := n; k < n*n; k++ {
			if k%n != j {
				minor = append(minor, m[k])
			}
		}
		term := new(big.Rat).Mul(m[j], exactDet(minor, n-1))
		if j%2 == 1 {
			term.Neg(term)
		}
		sum.Add(sum, term)
	}
	return sum
}
