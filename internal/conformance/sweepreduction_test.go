package conformance_test

import "github.com/graft-ml/graft/nn/dtype"

// reductionSweeps: sums and the like over axes.
var reductionSweeps = map[string]func(r *draw) trial{
	"ReduceSum": reduction("ReduceSum"), "ReduceMean": reduction("ReduceMean"), "ReduceProd": reduction("ReduceProd"), "ReduceMax": reduction("ReduceMax"),
	"ReduceMin": reduction("ReduceMin"), "ReduceL1": reduction("ReduceL1"), "ReduceL2": reduction("ReduceL2"), "ReduceLogSum": reduction("ReduceLogSum"),
	"ReduceLogSumExp": reduction("ReduceLogSumExp"), "ReduceSumSquare": reduction("ReduceSumSquare"),
	"Softmax": soft("Softmax"), "LogSoftmax": soft("LogSoftmax"),
	"SoftmaxCrossEntropyLoss": crossEntropy, "NegativeLogLikelihoodLoss": likelihood,
}

func reduction(name string) func(r *draw) trial {
	return func(r *draw) trial {
		shape := r.shape(r.between(0, 4), 1, 4) // ONNX Runtime keeps axes of length 0 that it should reduce
		t := pick(r, dtype.Float32, dtype.Float32, dtype.Float64, dtype.Int32, dtype.Int64)
		if name == "ReduceLogSumExp" { // how logarithms become integers is left open
			t = pick(r, dtype.Float32, dtype.Float64)
		}
		x := r.of(t, shape...)
		if name == "ReduceProd" { // its integers do not wrap
			x = r.numbers(t, 1, 1, shape...)
		}
		if name == "ReduceLogSum" || name != "ReduceProd" && t != dtype.Float32 {
			x = r.numbers(t, 1, 5, shape...)
		}
		attrs := map[string]any{}
		if r.flag() {
			attrs["keepdims"] = r.IntN(2)
		}
		opset := pick(r, 1, 11, 13, 18)
		if (name == "ReduceMax" || name == "ReduceMin") && r.rarely(4) {
			opset = 20
			if r.flag() {
				x = r.bools(shape...)
			}
		}
		in := fed(x)
		asInput := opset >= 18 || name == "ReduceSum" && opset >= 13
		if asInput && r.flag() {
			attrs["noop_with_empty_axes"] = r.IntN(2)
		}
		if len(shape) > 0 && r.rarely(4) == false {
			axes := r.subset(len(shape))
			if opset == 1 {
				for i, a := range axes {
					axes[i] = (a + len(shape)) % len(shape)
				}
			}
			if asInput {
				in = r.with(in, ints(axes...))
			} else {
				attrs["axes"] = axes
			}
		} else if asInput && r.rarely(3) {
			in = r.with(in, ints())
		}
		return trial{op: name, opset: opset, attrs: attrs, in: in, rtol: 1e-3, atol: 1e-4}
	}
}

func soft(name string) func(r *draw) trial {
	return func(r *draw) trial {
		shape := r.maybeEmpty(r.between(1, 4), 1, 4)
		attrs, opset := map[string]any{}, pick(r, 1, 11, 13)
		if r.flag() {
			attrs["axis"] = r.axis(len(shape))
			if opset == 1 {
				attrs["axis"] = r.IntN(len(shape))
			}
		} else if opset < 13 && len(shape) == 1 {
			attrs["axis"] = 0
		}
		x := r.floats(shape...)
		if r.flag() {
			x = r.of(dtype.Float64, shape...)
		}
		return trial{op: name, opset: opset, attrs: attrs, in: fed(x)}
	}
}

// target draws classes of 0 … n−1, some of them the one to ignore.
func (r *draw) target(attrs map[string]any, n int, shape ...int) dtype.Value {
	low := 0
	if r.flag() {
		low = -1
		attrs["ignore_index"] = -1
	}
	v := r.numbers(pick(r, dtype.Int64, dtype.Int32), low, n-1, shape...)
	return v
}

func crossEntropy(r *draw) trial {
	n, classes, spatial := r.between(1, 3), r.between(2, 4), r.shape(r.between(0, 2), 1, 3)
	attrs := map[string]any{"reduction": pick(r, "none", "sum", "mean")}
	labels := r.target(attrs, classes, append([]int{n}, spatial...)...)
	in := fed(r.floats(append([]int{n, classes}, spatial...)...), labels)
	if r.flag() {
		in = append(in, argument{value: r.numbers(dtype.Float32, 1, 4, classes)})
	}
	return trial{op: "SoftmaxCrossEntropyLoss", opset: pick(r, 12, 13), attrs: attrs, in: in, out: r.between(1, 2)}
}

func likelihood(r *draw) trial {
	c := crossEntropy(r)
	c.op, c.opset, c.out = "NegativeLogLikelihoodLoss", pick(r, 12, 13, 22), 1
	return c
}
