// Package step writes one training step of a model as a model of its own, in standard ONNX operators: a batch, its
// targets, parameters and the state of the update rule go in, the loss and what they become come out. Any runtime that
// runs the file trains the model; no training code is needed beside it.
package step
