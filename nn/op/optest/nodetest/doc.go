// Package nodetest runs ONNX's node test folders on operators alone, without a graph: each node of model.onnx becomes a
// call. Subgraphs are left to package nn.
package nodetest
