// Package legacy has operators that the standard once had as experimental ones and later withdrew, and that occur in
// files from that time: an exporter to Caffe2, Core ML models and the first versions of PyTorch's exporter wrote them.
// Like package contrib it only uses the exported API of package op.
//
//	ops, err := legacy.With(std.Operators())
//
// The set that onnxio uses by default contains them. They do what ONNX 1.3 documents as experimental. Those that ONNX
// Runtime still has are tested against it, the others against NumPy.
package legacy

import "github.com/graft-ml/graft/nn/op"

// With returns the set with the operators of this package added.
func With(s op.Set) (op.Set, error) { return s.With(ops()...) }

// ops returns the operators of this package, which belong to the standard's domain and have no versions.
func ops() []*op.Op {
	list := append(elementwise(), images()...)
	return append(append(list, fills()...), aten())
}
