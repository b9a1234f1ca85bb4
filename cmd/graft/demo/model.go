package demo

import (
	"bytes"
	_ "embed"
)

// Known are the classes of Model, in the order of its scores.
const Known = "0123456789"

// New are the classes that the demonstration fine-tunes to. Model has seen none of them.
const New = "ABEGKRSW"

//go:embed digits.onnx
var digits []byte

// Model returns the file digits.onnx: image float32[N,1,28,28], values 0 to 1, to scores float32[N,10] (logits of
// Known). Three times Conv, BatchNormalization and Relu, GlobalAveragePool, Gemm; opset 13. train_glyphs.py made it.
func Model() []byte { return bytes.Clone(digits) }
