package nn

import (
	"fmt"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Tensor makes a tensor of the given shape that shares data; no dims means rank 0. It fails where
// tensor.New panics: when the shape does not fit the data, or T is no element type.
func Tensor[T any](data []T, dims ...int) (*tensor.Dense, error) {
	return dtype.FromSlice(data, dims...)
}

// Slice is the elements of t, row by row, without a copy. It fails when they are not of type T or
// t is a view that is not contiguous.
func Slice[T any](t *tensor.Dense) ([]T, error) {
	if t == nil {
		return nil, &Error{Err: fmt.Errorf("the tensor is nil")}
	}
	if want := dtype.TypeOf[T](); dtype.Of(t.Dtype()) != want {
		return nil, &Error{Want: want, Got: dtype.Of(t.Dtype())}
	}
	if o := t.DataOrder(); o.IsColMajor() || o.IsNotContiguous() || o.IsTransposed() {
		return nil, &Error{Err: fmt.Errorf("the tensor of shape %v is not contiguous", t.Shape())}
	}
	return dtype.Slice[T](t), nil
}
