// Package legacy has operators that the standard once had on trial and withdrew, and that files of those years hold: an
// exporter to Caffe2, Core ML models and the first versions of PyTorch's exporter wrote them. Like package contrib it is
// written against the exported API of package op alone.
//
//	ops, err := legacy.With(std.Operators())
//
// The set that onnxio loads models with by default has them. What they mean is what ONNX 1.3 documents as experimental,
// and where ONNX Runtime has an operator still, it is checked against that; the others against NumPy.
package legacy

import "github.com/graft-ml/graft/nn/op"

// With is a set with the operators of this package.
func With(s op.Set) (op.Set, error) { return s.With(Ops()...) }

// Ops lists the operators of this package, all of them of the standard's domain and unversioned.
func Ops() []*op.Op {
	list := append(elementwise(), pictures()...)
	return append(append(list, fills()...), aten())
}
