package onnxio

import (
	"bytes"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
)

// TestLoopOverRows: a weight that only the body of a Loop reads, cut there by the number of the iteration, is trained,
// and its gradient comes through a result whose length nothing told before.
func TestLoopOverRows(t *testing.T) {
	g, err := Read(bytes.NewReader(fullModel(t, `ir_version: 8 opset_import { version: 17 } graph { name: "g"
		input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } dim { dim_value: 4 } } } } }
		output `+float("y", "")+`
		initializer { name: "w" data_type: 1 dims: 3 dims: 2 float_data: [1, 2, 3, 4, 5, 6] }
		initializer { name: "first" data_type: 7 int64_data: [0] dims: 1 }
		initializer { name: "zero" data_type: 7 int64_data: [0] }
		initializer { name: "one" data_type: 7 int64_data: [1] }
		node { op_type: "Shape" input: "x" output: "shape" }
		node { op_type: "Gather" input: "shape" input: "zero" output: "n" }
		node { op_type: "Cast" input: "one" output: "yes" attribute { name: "to" type: INT i: 9 } }
		node { op_type: "Loop" name: "loop" input: "n" input: "yes" output: "rows" attribute { name: "body" type: GRAPH g { name: "body"
			input { name: "i" type { tensor_type { elem_type: 7 shape { } } } }
			input { name: "on" type { tensor_type { elem_type: 9 shape { } } } }
			node { op_type: "Add" input: "i" input: "one" output: "next" }
			node { op_type: "Unsqueeze" input: "i" input: "first" output: "from" }
			node { op_type: "Unsqueeze" input: "next" input: "first" output: "to" }
			node { op_type: "Slice" input: "w" input: "from" input: "to" input: "first" output: "part" }
			node { op_type: "Gather" input: "part" input: "zero" output: "only" }
			node { op_type: "Mul" input: "only" input: "only" output: "row" }
			node { op_type: "Cast" input: "yes" output: "still" attribute { name: "to" type: INT i: 9 } }
			output { name: "still" type { tensor_type { elem_type: 9 shape { } } } }
			output { name: "row" type { tensor_type { elem_type: 1 } } }
		} } }
		node { op_type: "ReduceSum" input: "rows" output: "y" attribute { name: "keepdims" type: INT i: 0 } } }`)))
	if err != nil {
		t.Fatal(err)
	}
	if w, err := g.Value("w"); err != nil || !w.Param().Trainable() {
		t.Errorf("w is not trained (%v)", err)
	}
	grads, err := g.Grad(t.Context(), nn.Feed{"x": dtype.New(dtype.Float32, 2, 4)}, "y")
	if err != nil {
		t.Fatal(err)
	}
	if got := grads["w"].Data(); !slices.Equal(got.([]float32), []float32{2, 4, 6, 8, 0, 0}) {
		t.Errorf("gradient %v", got)
	}
}
