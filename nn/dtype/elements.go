package dtype

import (
	"gorgonia.org/tensor"
)

// Elems returns the elements of t without copying, nil if t is nil. It panics where Slice does.
func Elems[T any](t *tensor.Dense) []T {
	if t == nil {
		return nil
	}
	return Slice[T](t)
}

// ElemsAt returns Elems of element i of a list, nil beyond its end.
func ElemsAt[T any](list []*tensor.Dense, i int) []T {
	if i >= len(list) {
		return nil
	}
	return Elems[T](list[i])
}

// Product returns the product of the dimensions of a shape, 1 for rank 0. Count also checks for overflow.
func Product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
