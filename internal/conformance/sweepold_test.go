package conformance_test

import "github.com/graft-ml/graft/nn/dtype"

// oldSweeps: forms that operators had in the first operator sets and that ONNX Runtime still runs.
var oldSweeps = map[string]func(r *draw) trial{
	"old variadic": func(r *draw) trial {
		shape := r.shape(r.between(1, 3), 1, 4)
		return trial{op: pick(r, "Max", "Min", "Sum", "Mean"), opset: 6, in: fed(r.floats(shape...), r.floats(shape...))}
	},
	"old unary": func(r *draw) trial {
		return trial{op: pick(r, "Abs", "Neg", "Exp", "Relu", "Sigmoid", "Tanh", "Sqrt", "Reciprocal", "Ceil", "Floor", "Log"), opset: 6, in: fed(r.numbers(dtype.Float32, 1, 5, r.shape(2, 1, 4)...))}
	},
	"old Softmax": func(r *draw) trial {
		return trial{op: "Softmax", opset: 1, in: fed(r.floats(r.shape(r.between(2, 4), 1, 4)...))}
	},
	"old Flatten": func(r *draw) trial {
		shape := r.shape(r.between(2, 4), 1, 4)
		return trial{op: "Flatten", opset: pick(r, 1, 9), attrs: map[string]any{"axis": r.between(0, len(shape))}, in: fed(r.floats(shape...))}
	},
	"old TopK": func(r *draw) trial {
		return trial{op: "TopK", opset: 1, attrs: map[string]any{"k": 2}, in: fed(r.distinct(3, 4)), out: 2}
	},
	"old Gather": func(r *draw) trial {
		shape := r.shape(r.between(1, 3), 1, 4)
		axis := r.IntN(len(shape))
		return trial{op: "Gather", opset: 1, attrs: map[string]any{"axis": axis}, in: fed(r.floats(shape...), r.numbers(dtype.Int64, 0, shape[axis]-1, r.shape(r.between(0, 2), 1, 3)...))}
	},
	"old ArgMax": func(r *draw) trial {
		shape := r.shape(r.between(1, 3), 1, 4)
		return trial{op: pick(r, "ArgMax", "ArgMin"), opset: 1, attrs: map[string]any{"axis": r.IntN(len(shape)), "keepdims": r.IntN(2)}, in: fed(r.floats(shape...))}
	},
}
