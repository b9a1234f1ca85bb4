package onnxio

import (
	"bytes"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// TestLoopStartsApart: what a Loop carries begins as a constant, by which no gradient is asked for, and depends on the
// weight from the first iteration on: h = h·w three times, the gradient is 3·w².
func TestLoopStartsApart(t *testing.T) {
	g, err := Read(bytes.NewReader(fullModel(t, `ir_version: 8 opset_import { version: 17 } graph { name: "g"
		input { name: "trips" type { tensor_type { elem_type: 7 shape { } } } }
		input { name: "w" type { tensor_type { elem_type: 1 shape { } } } }
		output `+float("y", "")+`
		initializer { name: "h0" data_type: 1 float_data: [1] }
		node { op_type: "Loop" name: "loop" input: "trips" input: "" input: "h0" output: "y" attribute { name: "body" type: GRAPH g { name: "body"
			input { name: "i" type { tensor_type { elem_type: 7 shape { } } } }
			input { name: "on" type { tensor_type { elem_type: 9 shape { } } } }
			input { name: "h" type { tensor_type { elem_type: 1 shape { } } } }
			node { op_type: "Mul" input: "h" input: "w" output: "next" }
			node { op_type: "Identity" input: "on" output: "still" }
			output { name: "still" type { tensor_type { elem_type: 9 shape { } } } }
			output { name: "next" type { tensor_type { elem_type: 1 shape { } } } }
		} } } }`)))
	if err != nil {
		t.Fatal(err)
	}
	grads, err := g.Grad(t.Context(), nn.Feed{"w": dtype.Scalar[float32](2), "trips": dtype.Scalar[int64](3)}, "y", "w")
	if err != nil {
		t.Fatal(err)
	}
	if got := dtype.Slice[float32](grads["w"].(*tensor.Dense))[0]; got != 12 {
		t.Errorf("gradient %g, want 12", got)
	}
}

// TestMissingGradientApart: in the branch of an If within a Loop an operator has no gradient, but reads a constant alone, of
// which the gradient that is asked for does not depend: it is computed. By what that operator reads it is refused.
func TestMissingGradientApart(t *testing.T) {
	g, err := Read(bytes.NewReader(fullModel(t, `ir_version: 8 opset_import { version: 17 } opset_import { domain: "ai.onnx.ml" version: 1 } graph { name: "g"
		input { name: "trips" type { tensor_type { elem_type: 7 shape { } } } }
		input { name: "w" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 1 } } } } }
		input { name: "c" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 2 } } } } }
		output `+float("y", "")+`
		initializer { name: "h0" data_type: 1 float_data: [1] dims: 1 dims: 1 }
		node { op_type: "Loop" name: "loop" input: "trips" input: "" input: "h0" output: "last" attribute { name: "body" type: GRAPH g { name: "body"
			input { name: "i" type { tensor_type { elem_type: 7 shape { } } } }
			input { name: "on" type { tensor_type { elem_type: 9 shape { } } } }
			input { name: "h" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 1 } } } } }
			node { op_type: "Cast" input: "i" output: "later" attribute { name: "to" type: INT i: 9 } }
			node { op_type: "If" input: "later" output: "next"
				attribute { name: "then_branch" type: GRAPH g { name: "then"
					node { op_type: "SVMRegressor" name: "machine" domain: "ai.onnx.ml" input: "c" output: "m"
						attribute { name: "coefficients" type: FLOATS floats: [1, 2] } attribute { name: "rho" type: FLOATS floats: [0] } }
					node { op_type: "Mul" input: "h" input: "w" output: "hw" }
					node { op_type: "Mul" input: "hw" input: "m" output: "a" }
					output { name: "a" type { tensor_type { elem_type: 1 } } } } }
				attribute { name: "else_branch" type: GRAPH g { name: "else"
					node { op_type: "Mul" input: "h" input: "w" output: "b" }
					output { name: "b" type { tensor_type { elem_type: 1 } } } } } }
			node { op_type: "Identity" input: "on" output: "still" }
			output { name: "still" type { tensor_type { elem_type: 9 shape { } } } }
			output { name: "next" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 1 } } } } }
		} } }
		node { op_type: "ReduceSum" input: "last" output: "y" attribute { name: "keepdims" type: INT i: 0 } } }`)))
	if err != nil {
		t.Fatal(err)
	}
	one := func(v ...float32) *tensor.Dense { d, _ := dtype.FromSlice(v, 1, len(v)); return d }
	feed := nn.Feed{"w": one(2), "c": one(3, 4), "trips": dtype.Scalar[int64](3)}
	grads, err := g.Grad(t.Context(), feed, "y", "w")
	if err != nil {
		t.Fatal(err)
	}
	if got := dtype.Slice[float32](grads["w"].(*tensor.Dense))[0]; got != 12*11*11 { // h·w, twice times 3·1 + 4·2
		t.Errorf("gradient %g, want %d", got, 12*11*11)
	}
	_, err = g.Grad(t.Context(), feed, "y", "c")
	if err == nil || !strings.Contains(err.Error(), "ai.onnx.ml.SVMRegressor machine: has no gradient") {
		t.Errorf("by c: %v", err)
	}
}
