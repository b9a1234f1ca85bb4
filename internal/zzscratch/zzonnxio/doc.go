// Package onnxio reads and writes files: ONNX models, their tensors and external data, the
// folders of test cases, and NumPy's .npy.
//
// Everything a file claims is checked before memory is allocated for it, and nothing outside the
// folder of a model is read. Files are written under a temporary name and then renamed, see
// [WriteFile].
package onnxio
