package nn

import (
	"fmt"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Tensor returns a tensor of the given shape that shares data; without dims it has rank 0. It fails if the shape does not
// fit the data or T is not an element type.
func Tensor[T any](data []T, dims ...int) (*tensor.Dense, error) {
	return dtype.FromSlice(data, dims...)
}

// Slice returns the elements of t in row-major order, without copying. It fails if they are not of type T, or if t is nil
// or not contiguous.
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
