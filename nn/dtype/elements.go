package dtype

import (
	"gorgonia.org/tensor"
)

// elems is the elements of t, nil where t is absent.
func Elems[T any](t *tensor.Dense) []T {
	if t == nil {
		return nil
	}
	return Slice[T](t)
}

// elemsAt is elems for a tensor that may lie behind the end of list.
func ElemsAt[T any](list []*tensor.Dense, i int) []T {
	if i >= len(list) {
		return nil
	}
	return Elems[T](list[i])
}

func Product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
