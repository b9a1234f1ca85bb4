// Package dtype holds the element types of ONNX tensors and the values a model computes with.
//
// A [DType] is one of ONNX's element types and carries ONNX's number. Each is stored as one Go
// value per element, also the types of fewer than eight bits, which only files pack. Types that
// Go lacks have a Go type here: [F16], [BF16], [F8E4M3FN], [I4] and so on.
//
// A tensor is a *tensor.Dense of gorgonia.org/tensor, always contiguous and row-major. The
// functions of this package ([New], [FromSlice], [Slice], [Convert]) work for every element type,
// for rank 0 and for tensors without elements, where many methods of *tensor.Dense do not.
// Strings, sequences and optionals are values of their own: [Strings], [Sequence], [Optional].
// All of them, *tensor.Dense included, satisfy [Value], which has the methods of Gorgonia's Value.
package dtype
