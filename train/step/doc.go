// Package step exports one training step of a model as an ONNX model of standard operators: its inputs are a batch,
// targets, parameters and optimizer state, its outputs the loss and the new values. Any runtime that runs the file can
// train the model; it needs no support for training.
package step
