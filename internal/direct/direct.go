// Package direct gives the packages of graft the tensors of parameters. They report by Changed what they write, whereas of
// what nn.Param.Data returned, or Edit.SetData was given, each run must find out by itself whether it was written to.
package direct

import (
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Param is an *nn.Param.
type Param interface {
	Data() *tensor.Dense
	Changed()
}

var (
	tensorOf func(Param) dtype.Value
	setData  func(edit, value any, d *tensor.Dense)
)

// Provide is called by nn.
func Provide(of func(Param) dtype.Value, set func(edit, value any, d *tensor.Dense)) {
	tensorOf, setData = of, set
}

// SetData is SetData of an *nn.Edit for a tensor that the caller does not keep.
func SetData[V any](e interface{ SetData(V, *tensor.Dense) }, v V, d *tensor.Dense) { setData(e, v, d) }

// Tensor returns the tensor of p, of numbers or of strings.
func Tensor(p Param) dtype.Value { return tensorOf(p) }

// Data returns the tensor of p, nil for strings.
func Data(p Param) *tensor.Dense {
	d, _ := tensorOf(p).(*tensor.Dense)
	return d
}
