package dtype

import (
	"gorgonia.org/tensor"
)

// Elems is the elements of t, nil where t is absent.
func Elems[T any](t *tensor.Dense) []T {
	if t == nil {
		return nil
	}
	return Slice[T](t)
}

// ElemsAt is Elems for item i of a list, nil beyond its end.
func ElemsAt[T any](list []*tensor.Dense, i int) []T {
	if i >= len(list) {
		return nil
	}
	return Elems[T](list[i])
}

// Product is the number of elements of a shape, 1 for rank 0.
func Product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
