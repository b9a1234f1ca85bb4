package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestGathers(t *testing.T) {
	x := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	optest.Run(t,
		optest.Case{Name: "rows", Config: std.GatherConfig{}, In: values(x(5, 3), optest.Tensor([]int64{1, -1, 1, 0}, 2, 2))},
		optest.Case{Name: "axis", Config: std.GatherConfig{Axis: -1}, In: values(x(2, 5), optest.Tensor([]int32{4, 0, 0}, 3))},
		optest.Case{Name: "scalar", Config: std.GatherConfig{}, In: values(x(5, 3), optest.Tensor([]int64{2}))},
		optest.Case{Name: "permutation", Config: std.GatherConfig{Axis: 1}, In: values(x(2, 3), optest.Ints(2, 0, 1)), NoCut: "indices would have to follow"},
		optest.Case{Name: "ints", Config: std.GatherConfig{}, In: values(optest.Ints(5, 6, 7), optest.Ints(-1, 0)), Want: values(optest.Ints(7, 5))},
		optest.Case{Name: "strings", Config: std.GatherConfig{}, In: values(texts([]int{2}, "a", "b"), optest.Ints(1, 1)), Want: values(texts([]int{2}, "b", "b")), NoCut: "strings"},
		optest.Case{Name: "elements", Config: std.GatherElementsConfig{Axis: 1}, In: values(x(3, 4), optest.Tensor([]int64{1, -1, 1, 0}, 2, 2))},
		optest.Case{Name: "elements 0", Config: std.GatherElementsConfig{}, In: values(x(3, 2), optest.Tensor([]int32{1, 2, 1, 0, 0, 0, 2, 2}, 4, 2))},
		optest.Case{Name: "nd", Config: std.GatherNDConfig{}, In: values(x(2, 3, 4), optest.Tensor([]int64{1, 0, -1, 2}, 2, 2))},
		optest.Case{Name: "nd batch", Config: std.GatherNDConfig{BatchDims: 1}, In: values(x(2, 3, 4), optest.Tensor([]int64{1, 0}, 2, 1))},
		optest.Case{Name: "compress", Config: std.CompressConfig{Axis: integer(1)}, In: values(x(2, 4), optest.Tensor([]bool{true, false, true}, 3))},
		optest.Case{Name: "compress flat", Config: std.CompressConfig{}, In: values(x(2, 3), optest.Tensor([]bool{false, true, false, false, true}, 5))},
	)
	for _, k := range []optest.Case{
		{Name: "index", Config: std.GatherConfig{}, In: values(x(5, 3), optest.Ints(5)), Refusal: "index 5 is outside of an axis of length 5"},
		{Name: "axis", Config: std.GatherConfig{Axis: 2}, In: values(x(5, 3), optest.Ints(0)), Refusal: "axis 2 is outside of [-2, 1]"},
		{Name: "elements rank", Config: std.GatherElementsConfig{}, In: values(x(5, 3), optest.Ints(0)), Refusal: "input indices: want the rank of the data, got int64[1]"},
		{Name: "nd coordinates", Config: std.GatherNDConfig{}, In: values(x(2), optest.Ints(0, 0)), Refusal: "indices have 2 coordinates, the data has 1 axes after the batch axes"},
		{Name: "nd batch", Config: std.GatherNDConfig{BatchDims: 3}, In: values(x(2, 3, 4), optest.Tensor([]int64{1, 0}, 2, 1)), Refusal: "batch_dims 3 is outside of [0, 2)"},
		{Name: "compress", Config: std.CompressConfig{}, In: values(x(2), optest.Tensor([]bool{true, true, true}, 3)), Refusal: "the condition keeps index 2 of an axis of length 2"},
	} {
		optest.Fails(t, k)
	}
}

func TestScatters(t *testing.T) {
	x := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	u := func(shape ...int) dtype.Value { return optest.Spread(2, -3, 3, shape...) }
	twice := optest.Tensor([]int64{1, 1, -1, 1, 0, 1}, 3, 2)
	for _, r := range []string{"none", "add", "mul", "max", "min"} {
		optest.Run(t,
			optest.Case{Name: "elements " + r, Config: std.ScatterElementsConfig{Reduction: r}, In: values(x(4, 3), twice, u(3, 2))},
			optest.Case{Name: "nd " + r, Config: std.ScatterNDConfig{Reduction: r}, In: values(x(4, 3), optest.Tensor([]int64{1, 3, 1}, 3, 1), u(3, 3))},
		)
	}
	optest.Run(t,
		optest.Case{Name: "axis", Config: std.ScatterElementsConfig{Axis: 1}, In: values(x(3, 4), twice, u(3, 2))},
		optest.Case{Name: "old", Config: std.ScatterConfig{Axis: -1}, In: values(x(3, 4), twice, u(3, 2))},
		optest.Case{Name: "nd elements", Config: std.ScatterNDConfig{}, In: values(x(4, 3), optest.Tensor([]int64{1, 0, -1, 2}, 2, 2), u(2))},
		optest.Case{Name: "bytes", Config: std.ScatterElementsConfig{Reduction: "max"}, In: values(optest.Tensor([]uint8{1, 200, 3}, 3), optest.Ints(1, 0), optest.Tensor([]uint8{100, 250}, 2)),
			Want: values(optest.Tensor([]uint8{250, 200, 3}, 3))},
		optest.Case{Name: "strings", Config: std.ScatterElementsConfig{}, In: values(texts([]int{2}, "a", "b"), optest.Ints(1), texts([]int{1}, "c")), Want: values(texts([]int{2}, "a", "c"))},
	)
	for _, k := range []optest.Case{
		{Name: "reduction", Config: std.ScatterNDConfig{Reduction: "mean"}, In: values(x(4, 3), optest.Tensor([]int64{1, 3, 1}, 3, 1), u(3, 3)), Refusal: "reduction \"mean\" is unknown"},
		{Name: "updates", Config: std.ScatterNDConfig{}, In: values(x(4, 3), optest.Tensor([]int64{1, 3, 1}, 3, 1), u(3, 2)), Refusal: "input updates: want float32[3,3], got float32[3,2]"},
		{Name: "index", Config: std.ScatterElementsConfig{}, In: values(x(4), optest.Ints(4), u(1)), Refusal: "index 4 is outside of an axis of length 4"},
	} {
		optest.Fails(t, k)
	}
}

func TestReductions(t *testing.T) {
	positive := func(shape ...int) dtype.Value { return optest.Spread(3, 0.2, 2, shape...) }
	x := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	drop, attr := truth(false), []int{-1, 0}
	for _, r := range []struct {
		name            string
		plain, old, non op.Config
		in              func(shape ...int) dtype.Value
		before          int
	}{
		{"sum", std.ReduceSumConfig{}, std.ReduceSumConfig{KeepDims: drop, Axes: attr}, std.ReduceSumConfig{NoopWithEmptyAxes: true}, x, 11},
		{"mean", std.ReduceMeanConfig{}, std.ReduceMeanConfig{KeepDims: drop, Axes: attr}, std.ReduceMeanConfig{NoopWithEmptyAxes: true}, x, 13},
		{"max", std.ReduceMaxConfig{}, std.ReduceMaxConfig{KeepDims: drop, Axes: attr}, std.ReduceMaxConfig{NoopWithEmptyAxes: true}, x, 13},
		{"min", std.ReduceMinConfig{}, std.ReduceMinConfig{KeepDims: drop, Axes: attr}, std.ReduceMinConfig{NoopWithEmptyAxes: true}, x, 13},
		{"prod", std.ReduceProdConfig{}, std.ReduceProdConfig{KeepDims: drop, Axes: attr}, std.ReduceProdConfig{NoopWithEmptyAxes: true}, x, 13},
		{"l1", std.ReduceL1Config{}, std.ReduceL1Config{KeepDims: drop, Axes: attr}, std.ReduceL1Config{NoopWithEmptyAxes: true}, x, 13},
		{"l2", std.ReduceL2Config{}, std.ReduceL2Config{KeepDims: drop, Axes: attr}, std.ReduceL2Config{NoopWithEmptyAxes: true}, x, 13},
		{"log sum", std.ReduceLogSumConfig{}, std.ReduceLogSumConfig{KeepDims: drop, Axes: attr}, std.ReduceLogSumConfig{NoopWithEmptyAxes: true}, positive, 13},
		{"log sum exp", std.ReduceLogSumExpConfig{}, std.ReduceLogSumExpConfig{KeepDims: drop, Axes: attr}, std.ReduceLogSumExpConfig{NoopWithEmptyAxes: true}, x, 13},
		{"sum square", std.ReduceSumSquareConfig{}, std.ReduceSumSquareConfig{KeepDims: drop, Axes: attr}, std.ReduceSumSquareConfig{NoopWithEmptyAxes: true}, x, 13},
	} {
		optest.Run(t,
			optest.Case{Name: r.name + " all", Config: r.plain, In: values(r.in(2, 3)), Tol: 1e-4},
			optest.Case{Name: r.name + " axes", Config: r.plain, In: values(r.in(2, 3, 4), optest.Ints(1)), Tol: 1e-4},
			optest.Case{Name: r.name + " attribute", Config: r.old, Version: r.before, In: values(r.in(2, 3, 2)), Tol: 1e-4},
			optest.Case{Name: r.name + " none", Config: r.non, In: values(r.in(2, 3)), Tol: 1e-4},
		)
		if r.name != "prod" { // of many numbers it is 0
			optest.Run(t,
				optest.Case{Name: r.name + " of long rows", Config: r.plain, In: values(r.in(2, 2500), optest.Ints(1)), Tol: 1e-3},
				optest.Case{Name: r.name + " of long columns", Config: r.plain, In: values(r.in(2, 2500), optest.Ints(0)), Tol: 1e-3},
			)
		}
	}
	zeros := optest.Floats([]int{2, 3}, 0, 2, 3, 0, 0, 4)
	optest.Run(t,
		optest.Case{Name: "product with zeros", Config: std.ReduceProdConfig{}, In: values(zeros, optest.Ints(1)), NoCut: "a zero leaves"},
		optest.Case{Name: "int32", Config: std.ReduceSumConfig{}, In: values(optest.Tensor([]int32{1, 2, 3, 4}, 2, 2), optest.Ints(0)), Want: values(optest.Tensor([]int32{4, 6}, 1, 2))},
		optest.Case{Name: "uint64", Config: std.ReduceMaxConfig{}, In: values(optest.Tensor([]uint64{1, 1 << 63}, 2)), Want: values(optest.Tensor([]uint64{1 << 63}, 1))},
		optest.Case{Name: "int8 of nothing", Config: std.ReduceMinConfig{KeepDims: drop}, In: values(optest.Tensor([]int8{}, 0)), Want: values(optest.Tensor([]int8{127}))},
		optest.Case{Name: "bool", Config: std.ReduceMaxConfig{}, In: values(optest.Tensor([]bool{false, true}, 2)), Want: values(optest.Tensor([]bool{true}, 1))},
		optest.Case{Name: "l2 of ints", Config: std.ReduceL2Config{}, In: values(optest.Ints(3, 4)), Want: values(optest.Ints(5))},
		optest.Case{Name: "sum of nothing", Config: std.ReduceSumConfig{}, In: values(optest.Rand(1, 2, 0), optest.Ints(1)), Want: values(optest.Floats([]int{2, 1}, 0, 0)), NoGrad: "empty"},
	)
	optest.Fails(t, optest.Case{Name: "axis", Config: std.ReduceSumConfig{}, In: values(x(2, 3), optest.Ints(2)), Refusal: "axis 2 is outside of [-2, 1]"})
	optest.Fails(t, optest.Case{Name: "twice", Config: std.ReduceSumConfig{}, In: values(x(2, 3), optest.Ints(1, -1)), Refusal: "axis 1 is given twice"})
}

func TestOrder(t *testing.T) {
	x := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	tie := optest.Floats([]int{2, 3}, 1, 5, 5, 2, 0, 0)
	optest.Run(t,
		optest.Case{Name: "argmax", Config: std.ArgMaxConfig{Axis: 1}, In: values(tie), Want: values(optest.Tensor([]int64{1, 0}, 2, 1))},
		optest.Case{Name: "argmax last", Config: std.ArgMaxConfig{Axis: -1, SelectLastIndex: true, KeepDims: truth(false)}, In: values(tie), Want: values(optest.Ints(2, 0))},
		optest.Case{Name: "argmin", Config: std.ArgMinConfig{Axis: 1, SelectLastIndex: true}, In: values(tie), Want: values(optest.Tensor([]int64{0, 2}, 2, 1))},
		optest.Case{Name: "argmin bytes", Config: std.ArgMinConfig{}, In: values(optest.Tensor([]uint8{3, 200, 2}, 3)), Want: values(optest.Ints(2))},
		optest.Case{Name: "top", Config: std.TopKConfig{}, In: values(x(3, 5), optest.Ints(2)), Outputs: 2},
		optest.Case{Name: "bottom", Config: std.TopKConfig{Axis: integer(0), Largest: truth(false), Sorted: truth(false)}, In: values(x(5, 3), optest.Ints(3)), Outputs: 2},
		optest.Case{Name: "values only", Config: std.TopKConfig{}, In: values(x(3, 50), optest.Ints(3)), Outputs: 2, Skip: []int{1}},
		optest.Case{Name: "top old", Config: std.TopKConfig{K: 2, Axis: integer(1)}, Version: 1, In: values(x(3, 5)), Outputs: 2},
		optest.Case{Name: "top 10", Config: std.TopKConfig{}, Version: 10, In: values(x(3, 5), optest.Ints(1)), Outputs: 2},
		optest.Case{Name: "one hot", Config: std.OneHotConfig{}, In: values(optest.Ints(1, -1, 5), optest.Tensor([]int64{3}), optest.Floats([]int{2}, -1, 2)),
			Want: values(optest.Floats([]int{3, 3}, -1, 2, -1, -1, -1, 2, -1, -1, -1))},
		optest.Case{Name: "one hot axis", Config: std.OneHotConfig{Axis: integer(0)}, In: values(optest.Ints(1, 0), optest.Tensor([]int64{2}), optest.Floats([]int{2}, -1, 2))},
		optest.Case{Name: "nonzero", Config: op.Plain("NonZero"), In: values(optest.Tensor([]int32{0, 1, 2, 0}, 2, 2)), Want: values(optest.Tensor([]int64{0, 1, 1, 0}, 2, 2))},
		optest.Case{Name: "unique", Config: std.UniqueConfig{}, In: values(optest.Ints(2, 1, 1, 3)), Outputs: 4,
			Want: values(optest.Ints(1, 2, 3), optest.Ints(1, 0, 3), optest.Ints(1, 0, 0, 2), optest.Ints(2, 1, 1))},
		optest.Case{Name: "unique by occurrence", Config: std.UniqueConfig{Sorted: truth(false)}, In: values(optest.Ints(2, 1, 1, 3)), Outputs: 4,
			Want: values(optest.Ints(2, 1, 3), optest.Ints(0, 1, 3), optest.Ints(0, 1, 1, 2), optest.Ints(1, 2, 1))},
		optest.Case{Name: "unique slices", Config: std.UniqueConfig{Axis: integer(1)}, In: values(optest.Tensor([]int64{1, 0, 1, 2, 3, 2}, 2, 3)), Want: values(optest.Tensor([]int64{0, 1, 3, 2}, 2, 2))},
		optest.Case{Name: "unique floats", Config: std.UniqueConfig{}, In: values(optest.Rand(1, 2, 3))},
		optest.Case{Name: "unique floats, all outputs", Config: std.UniqueConfig{Axis: integer(-1), Sorted: truth(false)}, In: values(optest.Rand(1, 2, 3)), Outputs: 4},
		optest.Case{Name: "unique strings", Config: std.UniqueConfig{}, In: values(texts([]int{3}, "b", "a", "b")), Want: values(texts([]int{2}, "a", "b"))},
	)
	for _, p := range []struct {
		name string
		sum  std.CumSumConfig
	}{{"", std.CumSumConfig{}}, {"exclusive", std.CumSumConfig{Exclusive: true}}, {"reverse", std.CumSumConfig{Reverse: true}}, {"both", std.CumSumConfig{Exclusive: true, Reverse: true}}} {
		axis := optest.Tensor([]int64{-1})
		optest.Run(t,
			optest.Case{Name: "sum " + p.name, Config: p.sum, In: values(x(3, 4), axis)},
			optest.Case{Name: "product " + p.name, Config: std.CumProdConfig(p.sum), In: values(x(3, 4), axis)},
			optest.Case{Name: "product of zeros " + p.name, Config: std.CumProdConfig(p.sum), In: values(optest.Floats([]int{4}, 1, 0, 3, 0), axis)},
		)
	}
	optest.Fails(t, optest.Case{Name: "k", Config: std.TopKConfig{}, In: values(x(3, 5), optest.Ints(6)), Outputs: 2, Refusal: "k is 6, the axis has 5"})
	optest.Fails(t, optest.Case{Name: "empty", Config: std.ArgMaxConfig{}, In: values(x(0, 5)), Refusal: "axis 0 has no elements"})
}
