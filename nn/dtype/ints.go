package dtype

import (
	"fmt"

	"gorgonia.org/tensor"
)

// Ints are the elements of an integer (or bool) tensor.
func Ints(d *tensor.Dense) ([]int, error) {
	if d == nil {
		return nil, errNil
	}
	if t := Of(d.Dtype()); !t.IsInteger() && t != Bool {
		return nil, fmt.Errorf("a tensor of %v holds no integers", t)
	}
	v, err := Int64s(d)
	if err != nil {
		return nil, err
	}
	n := make([]int, len(v))
	for i, x := range v {
		n[i] = int(x)
	}
	return n, nil
}

// FromInts is a tensor of numeric type t with the given elements; no dims make it rank 0.
func FromInts(t DType, v []int, dims ...int) (*tensor.Dense, error) {
	w := make([]int64, len(v))
	for i, x := range v {
		w[i] = int64(x)
	}
	d, err := FromSlice(w, dims...)
	if err != nil || t == Int64 {
		return d, err
	}
	return ConvertTo(t, d)
}

// FromFloats is a tensor of numeric type t with the given elements; no dims make it rank 0.
func FromFloats(t DType, v []float64, dims ...int) (*tensor.Dense, error) {
	d, err := FromSlice(append([]float64(nil), v...), dims...)
	if err != nil || t == Float64 {
		return d, err
	}
	return ConvertTo(t, d)
}
