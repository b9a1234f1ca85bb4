// Package nodetest runs ONNX's node test folders on operators alone, without a graph: each node
// of model.onnx becomes a call, one after the other. Subgraphs are left to package nn.
package nodetest
