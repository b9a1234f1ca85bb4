package conformance_test

// vectorSweeps: support vector machines.
var vectorSweeps = map[string]func(r *draw) trial{
	"SVMRegressor":  supportVectors,
	"SVMClassifier": supportClasses,
}

func supportVectors(r *draw) trial {
	n, vectors := r.between(1, 4), r.between(1, 4)
	attrs := map[string]any{"kernel_type": pick(r, "LINEAR", "POLY", "RBF", "SIGMOID"), "kernel_params": []float32{0.3, 0.5, 2}, "rho": r.floats32(1)}
	if r.flag() {
		attrs["one_class"] = r.IntN(2)
	}
	if r.rarely(3) {
		attrs["kernel_type"], attrs["coefficients"] = "LINEAR", r.floats32(n)
	} else {
		attrs["coefficients"], attrs["support_vectors"], attrs["n_supports"] = r.floats32(vectors), r.floats32(n*vectors), vectors
	}
	c := classical("SVMRegressor", attrs, r.floats(r.between(1, 3), n))
	c.atol = 1e-4
	return c
}

func supportClasses(r *draw) trial {
	n, classes := r.between(1, 4), r.between(2, 4)
	attrs := map[string]any{"kernel_type": pick(r, "LINEAR", "POLY", "RBF", "SIGMOID"), "kernel_params": []float32{0.3, 0.5, 2}, "post_transform": pick(r, "NONE", "LOGISTIC", "SOFTMAX")}
	attrs["classlabels_ints"] = []int{4, 9, 2, 7}[:classes]
	if r.flag() {
		delete(attrs, "classlabels_ints")
		attrs["classlabels_strings"] = []string{"a", "b", "c", "d"}[:classes]
	}
	pairs := classes * (classes - 1) / 2
	if classes > 2 && r.rarely(4) { // of two linear models, ONNX Runtime takes the second where either is positive
		attrs["kernel_type"], attrs["coefficients"], attrs["rho"] = "LINEAR", r.floats32(n*classes), r.floats32(pairs)
	} else {
		each := r.shape(classes, 1, 3)
		vectors := 0
		for _, k := range each {
			vectors += k
		}
		attrs["vectors_per_class"], attrs["support_vectors"], attrs["coefficients"], attrs["rho"] = each, r.floats32(n*vectors), r.floats32(vectors*(classes-1)), r.floats32(pairs)
		if r.flag() {
			attrs["prob_a"], attrs["prob_b"] = r.floats32(pairs), r.floats32(pairs)
			attrs["post_transform"] = "NONE"
		}
	}
	if classes == 2 && attrs["post_transform"] == "SOFTMAX" { // what that makes of a single score is left open
		attrs["post_transform"] = "NONE"
	}
	c := classical("SVMClassifier", attrs, r.floats(r.between(1, 3), n))
	c.out, c.rtol, c.atol = 2, 1e-3, 1e-4
	return c
}
