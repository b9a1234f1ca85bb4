// Package ort runs and trains models with ONNX Runtime. It loads the installed shared library when it is needed, without
// cgo, and computes on the device of any execution provider that the library has: CPU, CUDA, ROCm, CoreML and others.
//
//	c := train.Config{Rule: optim.AdamW{LR: 1e-3}, Runtime: ort.Runtime{Provider: "cuda"}}
//	history, err := train.Fit(ctx, g, c, fit, val)
//
// Parameters and the state of the update rule stay on the device between the steps; the graph has them when an epoch
// ends, or when Trainer.Sync is called. Checkpoints, metrics and callbacks are those of package train.
//
// The library, version 1.14 or later, is looked for in the file or folder that the environment variable GRAFT_ORT names, else
// where the system's loader looks, beside the program, and where npm's onnxruntime-node and Python's onnxruntime have it.
//
// Tried with the CPU provider on Linux, amd64. The other providers are called as their documentation says and are untried.
package ort
