package table

import (
	"math"
	"slices"
)

// moments accumulates the mean and deviation of columns block by block, without missing values (NaN), and the values of evenly spaced
// rows for quantiles.
type moments struct {
	n, mean, squares []float64
	rows, every      int
	sample           [][]float64
}

// sampled is the number of rows from which quantiles are computed.
const sampled = 20000

func newMoments(columns int, quantiles bool, rows int) *moments {
	m := &moments{n: make([]float64, columns), mean: make([]float64, columns), squares: make([]float64, columns)}
	if quantiles {
		m.sample, m.every = make([][]float64, columns), 1+rows/sampled
	}
	return m
}

// add accumulates a block of rows with all columns.
func (m *moments) add(x []float64) {
	columns := len(m.n)
	for r := range len(x) / columns {
		for c, v := range x[r*columns : (r+1)*columns] {
			if math.IsNaN(v) {
				continue
			}
			m.n[c]++
			d := v - m.mean[c]
			m.mean[c] += d / m.n[c]
			m.squares[c] += d * (v - m.mean[c])
			if m.sample != nil && m.rows%m.every == 0 {
				m.sample[c] = append(m.sample[c], v)
			}
		}
		m.rows++
	}
}

// results returns means, inverse deviations (0 for a constant column), knots, and the columns with missing values.
func (m *moments) results() (mean, inverse []float64, knots [][]float64, marked []int) {
	inverse = make([]float64, len(m.n))
	for c, n := range m.n {
		if d := math.Sqrt(m.squares[c] / n); d > 1e-7*math.Abs(m.mean[c]) {
			inverse[c] = 1 / d
		}
		if int(n) < m.rows {
			marked = append(marked, c)
		}
	}
	for _, s := range m.sample {
		knots = append(knots, quantiles(s))
	}
	return m.mean, inverse, knots, marked
}

// steps is the number of segments of a quantile scale.
const steps = 32

// quantiles returns steps+1 values that divide x into parts of equal size.
func quantiles(x []float64) []float64 {
	slices.Sort(x)
	q := make([]float64, steps+1)
	for i := range q {
		at := float64(i) / steps * float64(len(x)-1)
		k := int(at)
		q[i] = x[k]
		if k+1 < len(x) {
			q[i] += (at - float64(k)) * (x[k+1] - x[k])
		}
	}
	return q
}
