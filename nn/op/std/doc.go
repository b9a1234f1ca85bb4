// Package std holds the operators of ONNX's standard domains, most of them in a file of their own, with expected results in
// testdata/golden, and those that exist only in lowerings: gradients and fused operators, in the domain op.Internal.
//
// An operator is declared by a function without parameters that returns an *op.Op; go generate lists these functions, and
// Operators returns the set of all operators. A family of operators that only differ in a formula is declared by one
// function that returns []*op.Op. The attributes of an operator are a struct named after it: ConvConfig, for example,
// which is also the configuration to pass to op.Set.Apply1 and nn.Edit.Node.
package std

//go:generate go run ../gen
