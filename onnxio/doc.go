// Package onnxio reads and writes files: ONNX models, their tensors and external data, the
// data sets of test cases, and NumPy's .npy.
//
// [Load] makes an [nn.Graph] of a model, [Save] writes one. What an edit did not touch comes out
// as it went in: names, order, symbolic dimensions, metadata, raw attributes, unknown operators
// and fields. Everything that a graph does not hold is kept beside it for that, in the Origin
// fields. Operators that graft does not know keep a model from being run, not from being saved.
//
// Everything a file claims is checked before memory is allocated for it, and nothing outside the
// folder of a model is read. Files are written under a temporary name and then renamed, see
// [WriteFile].
package onnxio
