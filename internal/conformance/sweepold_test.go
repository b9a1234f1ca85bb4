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

// classicalSweeps: classical machine learning.
var classicalSweeps = map[string]func(r *draw) trial{
	"Binarizer": func(r *draw) trial {
		return classical("Binarizer", map[string]any{"threshold": 0.5}, r.floats(r.shape(2, 1, 4)...))
	},
	"Normalizer": func(r *draw) trial {
		return classical("Normalizer", map[string]any{"norm": pick(r, "MAX", "L1", "L2")}, r.floats(r.shape(2, 1, 4)...))
	},
	"Scaler":            scaler,
	"LinearRegressor":   linearRegressor,
	"LinearClassifier":  linearClassifier,
	"FeatureVectorizer": featureVectorizer,
	"OneHotEncoder":     oneHotEncoder,
	"ArrayFeatureExtractor": func(r *draw) trial {
		n := r.between(1, 4)
		return classical("ArrayFeatureExtractor", nil, r.floats(r.between(1, 3), n), r.numbers(dtype.Int64, 0, n-1, 1, r.between(1, 3)))
	},
	"Imputer": func(r *draw) trial {
		n := r.between(1, 4)
		return classical("Imputer", map[string]any{"imputed_value_floats": make([]float32, n), "replaced_value_float": 2.0}, r.numbers(dtype.Float32, 0, 3, 2, n))
	},
}

func classical(name string, attrs map[string]any, in ...dtype.Value) trial {
	return trial{domain: "ai.onnx.ml", op: name, opset: 1, attrs: attrs, in: fed(in...)}
}

// floats32 is what an attribute with n floats takes.
func (r *draw) floats32(n int) []float32 { return r.floats(n).Data().([]float32) }

func scaler(r *draw) trial {
	n := r.between(1, 4)
	return classical("Scaler", map[string]any{"offset": r.floats32(n), "scale": r.floats32(n)}, pick(r, r.floats(3, n), r.numbers(dtype.Int64, -3, 3, 2, n)))
}

func linearRegressor(r *draw) trial {
	n, targets := r.between(1, 4), r.between(2, 3) // a single target is not transformed by ONNX Runtime
	attrs := map[string]any{"coefficients": r.floats32(n * targets), "targets": targets, "post_transform": pick(r, "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")}
	if r.flag() {
		attrs["intercepts"] = r.floats32(targets)
	}
	return classical("LinearRegressor", attrs, r.floats(r.between(1, 3), n))
}

func linearClassifier(r *draw) trial {
	n, classes := r.between(1, 4), r.between(2, 4)
	rows := classes
	if classes == 2 && r.flag() {
		rows = 1
	}
	attrs := map[string]any{"coefficients": r.floats32(n * rows), "intercepts": r.floats32(rows), "post_transform": pick(r, "NONE", "SOFTMAX", "LOGISTIC")}
	labels := []int{4, 9, 2, 7}[:classes]
	attrs["classlabels_ints"] = labels
	if r.flag() {
		delete(attrs, "classlabels_ints")
		attrs["classlabels_strings"] = []string{"a", "b", "c", "d"}[:classes]
	}
	c := classical("LinearClassifier", attrs, r.floats(r.between(1, 3), n))
	c.out = 2
	return c
}

func featureVectorizer(r *draw) trial {
	rows, a, b := r.between(1, 3), r.between(1, 3), r.between(1, 3)
	return classical("FeatureVectorizer", map[string]any{"inputdimensions": []int{a, b}}, r.floats(rows, a), r.floats(rows, b))
}

func oneHotEncoder(r *draw) trial {
	attrs := map[string]any{"zeros": 1}
	if r.flag() {
		attrs["cats_strings"] = []string{"a", "", "cde"}
		return classical("OneHotEncoder", attrs, r.words(r.shape(r.between(1, 2), 1, 3)...))
	}
	attrs["cats_int64s"] = []int{3, 1, 2}
	return classical("OneHotEncoder", attrs, r.numbers(dtype.Int64, 0, 4, r.shape(r.between(1, 2), 1, 3)...))
}
