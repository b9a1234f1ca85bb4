// Package contrib has the operators of the domain com.microsoft that ONNX Runtime's graph optimizer, its
// quantizer and exporters for it leave in files, and those of com.microsoft.nchwc, which an optimized model for
// one kind of processor has. It is written against the exported API of package op alone, as a package outside of this
// module would be, and shows how: an operator is declared once, as an expression of standard operators, see compose.go,
// which gives its types, its values and its gradients, and its decomposition on request. What no such expression gives, the
// inverse of a matrix, or gives too slowly, weights of packed bits, has a kernel.
//
//	ops, err := contrib.With(std.Operators())
//	g, err := onnxio.Loader{Ops: ops}.Load("optimized.onnx")
//
// The set that onnxio loads models with by default has them.
//
// The meaning of each operator is that of ONNX Runtime's documentation of contributed operators, version 1.30, and
// is checked against the runtime itself.
package contrib

import "github.com/graft-ml/graft/nn/op"

// Domain is ONNX Runtime's domain of contributed operators.
const Domain = "com.microsoft"

// With is a set with the operators of this package. Files that ONNX Runtime optimized may use LayerNormalization in operator
// sets that lack it: there it has its first version.
func With(s op.Set) (op.Set, error) {
	list := Ops()
	if o := s.Find("", "LayerNormalization"); o != nil && o.Version(1) == 0 {
		early := *o
		early.Since = append([]int{1}, o.Since...)
		list = append(list, &early)
	}
	return s.Rewriting(quantizerRules()...).With(list...)
}

// Ops lists the operators of this package.
func Ops() []*op.Op {
	var list []*op.Op
	for _, family := range [][]*op.Op{activations(), products(), convolutions(), normalizations(), blocked(), channelsLast(),
		transformers(), blockQuantized(), transforms(), quantized()} {
		list = append(list, family...)
	}
	return list
}
