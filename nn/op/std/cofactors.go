package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/op"
)

// cofactors computes the cofactors of matrices [n, n] in n³ steps, also of singular ones.
//
// Complete pivoting and Gauss-Jordan elimination of all columns but two give E·P·A·Q = M with
//
//	E = [E1 0; E2 I],  M = [D W; 0 S],  S [2, 2],
//
// D diagonal, P and Q permutations. As det E = 1, the adjugate of P·A·Q is adj(M)·E, where
//
//	adj(M) = det D · [det S · D⁻¹, -D⁻¹·W·adj S; 0, adj S].
//
// Nothing is divided by S, which is singular or 0 if A has rank n-1 or n-2; if D has a 0, the rank is smaller and all
// cofactors are 0. Errors are of the order of those that rounding the elements of A to float64 makes.
type cofactors struct {
	n             int
	m             []float64 // A, then [E1 W; E2 S]
	pivots        []float64 // D
	rows, columns []int     // P·A·Q has A[rows[i], columns[j]] at i, j
}

func newCofactors(x *op.Exec, n int) *cofactors {
	return &cofactors{n: n, m: x.Float64(n * n), pivots: x.Float64(n), rows: x.Int(n), columns: x.Int(n)}
}

// of calls f for each element i, j of A, which is in c.m, with its cofactor.
func (c *cofactors) of(p *kernel.Pool, f func(i, j int, cofactor float64)) {
	switch c.n {
	case 0:
		return
	case 1:
		f(0, 0, 1)
		return
	}
	e := c.n - 2
	mantissa, exponent, full := c.eliminate(p)
	pace := p.Pace()
	if !full {
		for i := range c.n {
			for j := range c.n {
				f(i, j, 0)
			}
			pace.Did(c.n)
		}
		return
	}
	s, scale := c.corner()
	det := math.Ldexp(s[0]*s[3]-s[1]*s[2], scale)
	adj := [2][2]float64{{s[3], -s[1]}, {-s[2], s[0]}}
	for i := range c.n { // of the adjugate of P·A·Q, and of the columns of A
		var v [2]float64 // -W·adj S, or a row of adj S
		d, power := mantissa, exponent+scale
		if i < e {
			fraction, two := math.Frexp(c.pivots[i])
			d, power = d/fraction, power-two
			w := c.m[i*c.n+e:]
			v = [2]float64{-w[0]*adj[0][0] - w[1]*adj[1][0], -w[0]*adj[0][1] - w[1]*adj[1][1]}
		} else {
			v = adj[i-e]
		}
		for j := range c.n {
			var b float64
			if j >= e {
				b = v[j-e]
			} else {
				b = v[0]*c.m[e*c.n+j] + v[1]*c.m[(e+1)*c.n+j]
				if i < e {
					b += det * c.m[i*c.n+j]
				}
			}
			f(c.rows[j], c.columns[i], math.Ldexp(d*b, power))
		}
		pace.Did(c.n)
	}
}

// eliminate eliminates all columns but two in place. It returns the product det P · det Q · det D, as a mantissa and an exponent
// of two, and false if D has a 0.
func (c *cofactors) eliminate(p *kernel.Pool) (mantissa float64, exponent int, full bool) {
	n := c.n
	for i := range n {
		c.rows[i], c.columns[i] = i, i
	}
	mantissa = 1
	for k := range n - 2 {
		row, column := c.pivot(p, k)
		if row != k {
			mantissa = -mantissa
			c.rows[k], c.rows[row] = c.rows[row], c.rows[k]
			a, b := c.m[k*n:][:n], c.m[row*n:][:n]
			for i := range a {
				a[i], b[i] = b[i], a[i]
			}
		}
		if column != k {
			mantissa = -mantissa
			c.columns[k], c.columns[column] = c.columns[column], c.columns[k]
			for i := range n {
				c.m[i*n+k], c.m[i*n+column] = c.m[i*n+column], c.m[i*n+k]
			}
		}
		from := c.m[k*n:][:n]
		pivot := from[k]
		if pivot == 0 {
			return 0, 0, false
		}
		c.pivots[k], from[k] = pivot, 1
		var e int
		mantissa, e = math.Frexp(mantissa * pivot)
		exponent += e
		p.Range(n, max(1, kernel.ElementGrain/n), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				to := c.m[i*n:][:n]
				factor := to[k] / pivot
				if i == k || factor == 0 {
					continue
				}
				to[k] = 0
				for j, v := range from {
					to[j] -= factor * v
				}
			}
		})
	}
	return mantissa, exponent, true
}

// pivot returns the position of the largest element of rows and columns from k on.
func (c *cofactors) pivot(p *kernel.Pool, k int) (row, column int) {
	row, column = k, k
	largest := math.Abs(c.m[k*c.n+k])
	pace := p.Pace()
	for i := k; i < c.n; i++ {
		for j, v := range c.m[i*c.n+k : (i+1)*c.n] {
			if v = math.Abs(v); v > largest || v != v {
				largest, row, column = v, i, k+j
			}
		}
		pace.Did(c.n - k)
	}
	return row, column
}

// corner returns S divided by 2^scale, so that the products of its elements neither overflow nor vanish.
func (c *cofactors) corner() (s [4]float64, scale int) {
	e := c.n - 2
	s = [4]float64{c.m[e*c.n+e], c.m[e*c.n+e+1], c.m[(e+1)*c.n+e], c.m[(e+1)*c.n+e+1]}
	largest := max(math.Abs(s[0]), math.Abs(s[1]), math.Abs(s[2]), math.Abs(s[3]))
	if _, scale = math.Frexp(largest); scale == 0 {
		return s, 0
	}
	for i, v := range s {
		s[i] = math.Ldexp(v, -scale)
	}
	return s, scale
}
