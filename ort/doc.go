// Package ort runs and trains models with ONNX Runtime. It loads the installed shared library on demand, without
// cgo, and computes on the device of any execution provider that the library has: CPU, CUDA, ROCm, CoreML and others.
//
//	c := train.Config{Rule: optim.AdamW{LR: 1e-3}, Runtime: ort.Runtime{Provider: "cuda"}}
//	history, err := train.Fit(ctx, g, c, fit, val)
//
// Parameters and the state of the update rule stay on the device between the steps; the graph has them when an epoch
// ends, or when Trainer.Sync is called. Checkpoints, metrics and callbacks are those of package train.
//
// The library, version 1.14 or later, is searched for at the path in the environment variable GRAFT_ORT or, if that
// is not set, by the system's loader, beside the program, and in the folders of npm's onnxruntime-node and Python's
// onnxruntime.
//
// Tested with the CPU provider on Linux, amd64. The other providers are called as documented and are untested.
package ort
