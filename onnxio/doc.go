// Package onnxio reads and writes files: ONNX models, their tensors and external data, and the data sets of test cases.
//
// Load returns a model as an nn.Graph, Save writes one. What no edit changed is written as it was read: names, order,
// symbolic dimensions, metadata, raw attributes, unknown operators and fields. What a graph does not hold itself is kept
// in its Origin fields for that. A model with operators that graft does not know can be saved but not run. If no
// initializer is a weight, Constant nodes that hold weights become parameters, and are written as nodes again.
//
// Sizes that a file claims are checked before memory is allocated, and no file outside of the model's folder is read.
// Files are written under a temporary name and then renamed, see WriteFile.
package onnxio
