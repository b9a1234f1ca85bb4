// Package graft is the root of a module that loads ONNX models, changes them, trains them and saves them, in pure Go on
// top of Gorgonia. It contains no code; start with these packages:
//
//   - nn: a model as a mutable graph, and the edits that change it
//   - onnxio: ONNX files
//   - train, train/data and optim: fine-tuning and training from scratch
//   - cmd/graft: the command line
//
// ARCHITECTURE.md explains how they fit together.
package graft
