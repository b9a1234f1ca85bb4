// Package std holds the operators of ONNX's standard domains, one file each with its own test file of the same name, and
// those that exist in lowerings only: gradients and fused operators, of the domain [op.Internal].
//
// An operator is declared by a function without parameters that returns an *op.Op; go generate lists them, and Operators
// is the set of all. A family of operators that differ in a formula alone is declared by one function that returns
// []*op.Op. The attributes of an operator are a struct named after it: ConvConfig, a configuration for op.Set.Apply1
// and nn.Edit.Node.
package std

//go:generate go run ../gen
