// Package contrib has operators of the domain com.microsoft, which ONNX Runtime's graph optimizer and quantizer, and
// exporters for it, write to files, those of com.microsoft.nchwc, which occur in models optimized for one kind of
// processor, and SimplifiedLayerNormalization, which ONNX Runtime has in the standard domain. The package only uses the
// exported API of package op, as a package outside of this module would, and serves as an example: an operator is declared
// as an expression of standard operators (see compose.go), from which its types, values, gradients and, on request, its
// decomposition follow. Operators that cannot be expressed so (the inverse of a matrix), or only slowly (weights of packed
// bits), have a kernel.
//
//	ops, err := contrib.With(std.Operators())
//	g, err := onnxio.Loader{Ops: ops}.Load("optimized.onnx")
//
// The set that onnxio uses by default contains them.
//
// The operators do what ONNX Runtime's documentation of contributed operators (version 1.30) says, and are tested against
// it.
package contrib

import "github.com/graft-ml/graft/nn/op"

// Domain is ONNX Runtime's domain of contributed operators.
const Domain = "com.microsoft"

// With returns the set with the operators of this package added. Files that ONNX Runtime optimized may use
// LayerNormalization in operator sets that do not have it yet; there it is that of its first version.
func With(s op.Set) (op.Set, error) {
	list := Ops()
	if o := s.Find("", "LayerNormalization"); o != nil && o.Version(1) == 0 {
		early := *o
		early.Since = append([]int{1}, o.Since...)
		list = append(list, &early)
	}
	return s.Rewriting(quantizerRules()...).With(list...)
}

// Ops returns the operators of this package.
func Ops() []*op.Op {
	var list []*op.Op
	for _, family := range [][]*op.Op{activations(), products(), convolutions(), normalizations(), blocked(), channelsLast(),
		transformers(), blockQuantized(), transforms(), quantized()} {
		list = append(list, family...)
	}
	return list
}
