// Package dtype holds the element types of ONNX tensors and the values that models compute with.
//
// A DType is one of ONNX's element types, with ONNX's number. In memory each element is one Go value, also for types of
// fewer than eight bits, which are only packed in files. Go types for those that Go lacks are defined here: F16, BF16,
// F8E4M3FN, I4 and so on.
//
// A tensor is a *tensor.Dense of gorgonia.org/tensor, always contiguous and row-major. The functions of this package
// (New, FromSlice, Slice, Convert) work for every element type, for rank 0 and for tensors without elements, unlike many
// methods of *tensor.Dense. Strings, sequences, optionals and maps have types of their own: Strings, Sequence, Optional,
// Map. All of them, and *tensor.Dense, implement Value, which has the methods of Gorgonia's Value.
package dtype
