package engine

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Uncleared returns a tensor on the Go heap whose elements have arbitrary values, see [kernel.Uncleared]. dt is not a type of strings.
func Uncleared(dt dtype.DType, shape ...int) *tensor.Dense {
	n, err := dtype.Count(shape)
	if size := dt.Size(); err == nil && (kernel.Poison || int64(n) >= smallValue) && n*size/size == n {
		return header(dt.Tensor(), shape, kernel.Uncleared[byte](n*size))
	}
	return dtype.New(dt, shape...)
}
