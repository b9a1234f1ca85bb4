// Package toy has expressions that its test protects and some that it does not.
package toy

import "errors"

// Sum adds the first n elements, each counted from 1.
func Sum(x []float64, n int) (float64, error) {
	if n > len(x) {
		return 0, errors.New("too many")
	}
	s := 0.0
	for i := 1; i <= n; i++ {
		s += x[i-1]
	}
	return s, nil
}

// Inside reports whether a ≤ v < b, or v is one of both where they are equal.
func Inside(v, a, b int) bool {
	return v >= a && v < b || a == b && v == a
}

type pool struct{}

func (pool) each(n, grain int, f func(i int)) {
	for i := range n {
		f(i)
	}
}

// Squares is computed with a grain and a capacity, which change nothing.
func Squares(n int) []int {
	list := make([]int, 0, n+n/8)
	pool{}.each(n, 4+n/2, func(i int) { list = append(list, i*i) })
	return list
}

// Area is not executed.
func Area(a, b int) int { return a * b }
