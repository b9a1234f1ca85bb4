package dtype

import (
	"fmt"

	"gorgonia.org/tensor"
)

// Ints returns a copy of the elements of a tensor of integers or booleans.
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

// FromInts returns a tensor of numeric type t with the given elements; without dims it has rank 0.
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

// FromFloats returns a tensor of numeric type t with the given elements; without dims it has rank 0.
func FromFloats(t DType, v []float64, dims ...int) (*tensor.Dense, error) {
	d, err := FromSlice(append([]float64(nil), v...), dims...)
	if err != nil || t == Float64 {
		return d, err
	}
	return ConvertTo(t, d)
}
