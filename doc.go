// Package graft is the root of a module that takes ONNX models, changes them, trains them and
// writes them back, in pure Go on Gorgonia. It holds no code; start with these packages:
//
//   - nn: the model you hold in your hands, and the edits that change it
//   - onnxio: files
//   - train, train/data and optim: fine-tuning and training from scratch
//   - cmd/graft: the command line (its verbs are internal/cli)
//
// ARCHITECTURE.md explains how they fit together.
package graft
