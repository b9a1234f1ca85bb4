package op_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
)

func TestGathers(t *testing.T) {
	x := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	optest.Run(t,
		optest.Case{Name: "rows", Config: op.GatherConfig{}, In: values(x(5, 3), optest.Tensor([]int64{1, -1, 1, 0}, 2, 2))},
		optest.Case{Name: "axis", Config: op.GatherConfig{Axis: -1}, In: values(x(2, 5), optest.Tensor([]int32{4, 0, 0}, 3))},
		optest.Case{Name: "scalar", Config: op.GatherConfig{}, In: values(x(5, 3), optest.Tensor([]int64{2}))},
		optest.Case{Name: "permutation", Config: op.GatherConfig{Axis: 1}, In: values(x(2, 3), optest.Ints(2, 0, 1)), NoCut: "indices would have to follow"},
		optest.Case{Name: "ints", Config: op.GatherConfig{}, In: values(optest.Ints(5, 6, 7), optest.Ints(-1, 0)), Want: values(optest.Ints(7, 5))},
		optest.Case{Name: "strings", Config: op.GatherConfig{}, In: values(texts([]int{2}, "a", "b"), optest.Ints(1, 1)), Want: values(texts([]int{2}, "b", "b")), NoCut: "strings"},
		optest.Case{Name: "elements", Config: op.GatherElementsConfig{Axis: 1}, In: values(x(3, 4), optest.Tensor([]int64{1, -1, 1, 0}, 2, 2))},
		optest.Case{Name: "elements 0", Config: op.GatherElementsConfig{}, In: values(x(3, 2), optest.Tensor([]int32{1, 2, 1, 0, 0, 0, 2, 2}, 4, 2))},
		optest.Case{Name: "nd", Config: op.GatherNDConfig{}, In: values(x(2, 3, 4), optest.Tensor([]int64{1, 0, -1, 2}, 2, 2))},
		optest.Case{Name: "nd batch", Config: op.GatherNDConfig{BatchDims: 1}, In: values(x(2, 3, 4), optest.Tensor([]int64{1, 0}, 2, 1))},
		optest.Case{Name: "compress", Config: op.CompressConfig{Axis: integer(1)}, In: values(x(2, 4), optest.Tensor([]bool{true, false, true}, 3))},
		optest.Case{Name: "compress flat", Config: op.CompressConfig{}, In: values(x(2, 3), optest.Tensor([]bool{false, true, false, false, true}, 5))},
	)
	for _, k := range []optest.Case{
		{Name: "index", Config: op.GatherConfig{}, In: values(x(5, 3), optest.Ints(5)), Refusal: "index 5 is outside of an axis of length 5"},
		{Name: "axis", Config: op.GatherConfig{Axis: 2}, In: values(x(5, 3), optest.Ints(0)), Refusal: "axis 2 is outside of [-2, 1]"},
		{Name: "elements rank", Config: op.GatherElementsConfig{}, In: values(x(5, 3), optest.Ints(0)), Refusal: "input indices: want the rank of the data, got int64[1]"},
		{Name: "nd coordinates", Config: op.GatherNDConfig{}, In: values(x(2), optest.Ints(0, 0)), Refusal: "indices have 2 coordinates, the data has 1 axes behind the batch"},
		{Name: "nd batch", Config: op.GatherNDConfig{BatchDims: 3}, In: values(x(2, 3, 4), optest.Tensor([]int64{1, 0}, 2, 1)), Refusal: "batch_dims 3 is outside of [0, 2)"},
		{Name: "compress", Config: op.CompressConfig{}, In: values(x(2), optest.Tensor([]bool{true, true, true}, 3)), Refusal: "the condition keeps index 2 of an axis of length 2"},
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
			optest.Case{Name: "elements " + r, Config: op.ScatterElementsConfig{Reduction: r}, In: values(x(4, 3), twice, u(3, 2))},
			optest.Case{Name: "nd " + r, Config: op.ScatterNDConfig{Reduction: r}, In: values(x(4, 3), optest.Tensor([]int64{1, 3, 1}, 3, 1), u(3, 3))},
		)
	}
	optest.Run(t,
		optest.Case{Name: "axis", Config: op.ScatterElementsConfig{Axis: 1}, In: values(x(3, 4), twice, u(3, 2))},
		optest.Case{Name: "old", Config: op.ScatterConfig{Axis: -1}, In: values(x(3, 4), twice, u(3, 2))},
		optest.Case{Name: "nd elements", Config: op.ScatterNDConfig{}, In: values(x(4, 3), optest.Tensor([]int64{1, 0, -1, 2}, 2, 2), u(2))},
		optest.Case{Name: "bytes", Config: op.ScatterElementsConfig{Reduction: "max"}, In: values(optest.Tensor([]uint8{1, 200, 3}, 3), optest.Ints(1, 0), optest.Tensor([]uint8{100, 250}, 2)),
			Want: values(optest.Tensor([]uint8{250, 200, 3}, 3))},
		optest.Case{Name: "strings", Config: op.ScatterElementsConfig{}, In: values(texts([]int{2}, "a", "b"), optest.Ints(1), texts([]int{1}, "c")), Want: values(texts([]int{2}, "a", "c"))},
	)
	for _, k := range []optest.Case{
		{Name: "reduction", Config: op.ScatterNDConfig{Reduction: "mean"}, In: values(x(4, 3), optest.Tensor([]int64{1, 3, 1}, 3, 1), u(3, 3)), Refusal: "reduction \"mean\" is unknown"},
		{Name: "updates", Config: op.ScatterNDConfig{}, In: values(x(4, 3), optest.Tensor([]int64{1, 3, 1}, 3, 1), u(3, 2)), Refusal: "input updates: want float32[3,3], got float32[3,2]"},
		{Name: "index", Config: op.ScatterElementsConfig{}, In: values(x(4), optest.Ints(4), u(1)), Refusal: "index 4 is outside of an axis of length 4"},
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
		{"sum", op.ReduceSumConfig{}, op.ReduceSumConfig{KeepDims: drop, Axes: attr}, op.ReduceSumConfig{NoopWithEmptyAxes: true}, x, 11},
		{"mean", op.ReduceMeanConfig{}, op.ReduceMeanConfig{KeepDims: drop, Axes: attr}, op.ReduceMeanConfig{NoopWithEmptyAxes: true}, x, 13},
		{"max", op.ReduceMaxConfig{}, op.ReduceMaxConfig{KeepDims: drop, Axes: attr}, op.ReduceMaxConfig{NoopWithEmptyAxes: true}, x, 13},
		{"min", op.ReduceMinConfig{}, op.ReduceMinConfig{KeepDims: drop, Axes: attr}, op.ReduceMinConfig{NoopWithEmptyAxes: true}, x, 13},
		{"prod", op.ReduceProdConfig{}, op.ReduceProdConfig{KeepDims: drop, Axes: attr}, op.ReduceProdConfig{NoopWithEmptyAxes: true}, x, 13},
		{"l1", op.ReduceL1Config{}, op.ReduceL1Config{KeepDims: drop, Axes: attr}, op.ReduceL1Config{NoopWithEmptyAxes: true}, x, 13},
		{"l2", op.ReduceL2Config{}, op.ReduceL2Config{KeepDims: drop, Axes: attr}, op.ReduceL2Config{NoopWithEmptyAxes: true}, x, 13},
		{"log sum", op.ReduceLogSumConfig{}, op.ReduceLogSumConfig{KeepDims: drop, Axes: attr}, op.ReduceLogSumConfig{NoopWithEmptyAxes: true}, positive, 13},
		{"log sum exp", op.ReduceLogSumExpConfig{}, op.ReduceLogSumExpConfig{KeepDims: drop, Axes: attr}, op.ReduceLogSumExpConfig{NoopWithEmptyAxes: true}, x, 13},
		{"sum square", op.ReduceSumSquareConfig{}, op.ReduceSumSquareConfig{KeepDims: drop, Axes: attr}, op.ReduceSumSquareConfig{NoopWithEmptyAxes: true}, x, 13},
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
		optest.Case{Name: "product with zeros", Config: op.ReduceProdConfig{}, In: values(zeros, optest.Ints(1)), NoCut: "a zero leaves"},
		optest.Case{Name: "int32", Config: op.ReduceSumConfig{}, In: values(optest.Tensor([]int32{1, 2, 3, 4}, 2, 2), optest.Ints(0)), Want: values(optest.Tensor([]int32{4, 6}, 1, 2))},
		optest.Case{Name: "uint64", Config: op.ReduceMaxConfig{}, In: values(optest.Tensor([]uint64{1, 1 << 63}, 2)), Want: values(optest.Tensor([]uint64{1 << 63}, 1))},
		optest.Case{Name: "int8 of nothing", Config: op.ReduceMinConfig{KeepDims: drop}, In: values(optest.Tensor([]int8{}, 0)), Want: values(optest.Tensor([]int8{127}))},
		optest.Case{Name: "bool", Config: op.ReduceMaxConfig{}, In: values(optest.Tensor([]bool{false, true}, 2)), Want: values(optest.Tensor([]bool{true}, 1))},
		optest.Case{Name: "l2 of ints", Config: op.ReduceL2Config{}, In: values(optest.Ints(3, 4)), Want: values(optest.Ints(5))},
		optest.Case{Name: "sum of nothing", Config: op.ReduceSumConfig{}, In: values(optest.Rand(1, 2, 0), optest.Ints(1)), Want: values(optest.Floats([]int{2, 1}, 0, 0)), NoGrad: "empty"},
	)
	optest.Fails(t, optest.Case{Name: "axis", Config: op.ReduceSumConfig{}, In: values(x(2, 3), optest.Ints(2)), Refusal: "axis 2 is outside of [-2, 1]"})
	optest.Fails(t, optest.Case{Name: "twice", Config: op.ReduceSumConfig{}, In: values(x(2, 3), optest.Ints(1, -1)), Refusal: "axis 1 is given twice"})
}

func TestOrder(t *testing.T) {
	x := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	tie := optest.Floats([]int{2, 3}, 1, 5, 5, 2, 0, 0)
	optest.Run(t,
		optest.Case{Name: "argmax", Config: op.ArgMaxConfig{Axis: 1}, In: values(tie), Want: values(optest.Tensor([]int64{1, 0}, 2, 1))},
		optest.Case{Name: "argmax last", Config: op.ArgMaxConfig{Axis: -1, SelectLastIndex: true, KeepDims: truth(false)}, In: values(tie), Want: values(optest.Ints(2, 0))},
		optest.Case{Name: "argmin", Config: op.ArgMinConfig{Axis: 1, SelectLastIndex: true}, In: values(tie), Want: values(optest.Tensor([]int64{0, 2}, 2, 1))},
		optest.Case{Name: "argmin bytes", Config: op.ArgMinConfig{}, In: values(optest.Tensor([]uint8{3, 200, 2}, 3)), Want: values(optest.Ints(2))},
		optest.Case{Name: "top", Config: op.TopKConfig{}, In: values(x(3, 5), optest.Ints(2)), Outputs: 2},
		optest.Case{Name: "bottom", Config: op.TopKConfig{Axis: integer(0), Largest: truth(false), Sorted: truth(false)}, In: values(x(5, 3), optest.Ints(3)), Outputs: 2},
		optest.Case{Name: "values only", Config: op.TopKConfig{}, In: values(x(3, 50), optest.Ints(3)), Outputs: 2, Skip: []int{1}},
		optest.Case{Name: "top old", Config: op.TopKConfig{K: 2, Axis: integer(1)}, Version: 1, In: values(x(3, 5)), Outputs: 2},
		optest.Case{Name: "top 10", Config: op.TopKConfig{}, Version: 10, In: values(x(3, 5), optest.Ints(1)), Outputs: 2},
		optest.Case{Name: "one hot", Config: op.OneHotConfig{}, In: values(optest.Ints(1, -1, 5), optest.Tensor([]int64{3}), optest.Floats([]int{2}, -1, 2)),
			Want: values(optest.Floats([]int{3, 3}, -1, 2, -1, -1, -1, 2, -1, -1, -1))},
		optest.Case{Name: "one hot axis", Config: op.OneHotConfig{Axis: integer(0)}, In: values(optest.Ints(1, 0), optest.Tensor([]int64{2}), optest.Floats([]int{2}, -1, 2))},
		optest.Case{Name: "nonzero", Config: op.Plain("NonZero"), In: values(optest.Tensor([]int32{0, 1, 2, 0}, 2, 2)), Want: values(optest.Tensor([]int64{0, 1, 1, 0}, 2, 2))},
		optest.Case{Name: "unique", Config: op.UniqueConfig{}, In: values(optest.Ints(2, 1, 1, 3)), Outputs: 4,
			Want: values(optest.Ints(1, 2, 3), optest.Ints(1, 0, 3), optest.Ints(1, 0, 0, 2), optest.Ints(2, 1, 1))},
		optest.Case{Name: "unique by occurrence", Config: op.UniqueConfig{Sorted: truth(false)}, In: values(optest.Ints(2, 1, 1, 3)), Outputs: 4,
			Want: values(optest.Ints(2, 1, 3), optest.Ints(0, 1, 3), optest.Ints(0, 1, 1, 2), optest.Ints(1, 2, 1))},
		optest.Case{Name: "unique slices", Config: op.UniqueConfig{Axis: integer(1)}, In: values(optest.Tensor([]int64{1, 0, 1, 2, 3, 2}, 2, 3)), Want: values(optest.Tensor([]int64{0, 1, 3, 2}, 2, 2))},
		optest.Case{Name: "unique floats", Config: op.UniqueConfig{}, In: values(optest.Rand(1, 2, 3))},
		optest.Case{Name: "unique floats, all outputs", Config: op.UniqueConfig{Axis: integer(-1), Sorted: truth(false)}, In: values(optest.Rand(1, 2, 3)), Outputs: 4},
		optest.Case{Name: "unique strings", Config: op.UniqueConfig{}, In: values(texts([]int{3}, "b", "a", "b")), Want: values(texts([]int{2}, "a", "b"))},
	)
	for _, p := range []struct {
		name string
		sum  op.CumSumConfig
	}{{"", op.CumSumConfig{}}, {"exclusive", op.CumSumConfig{Exclusive: true}}, {"reverse", op.CumSumConfig{Reverse: true}}, {"both", op.CumSumConfig{Exclusive: true, Reverse: true}}} {
		axis := optest.Tensor([]int64{-1})
		optest.Run(t,
			optest.Case{Name: "sum " + p.name, Config: p.sum, In: values(x(3, 4), axis)},
			optest.Case{Name: "product " + p.name, Config: op.CumProdConfig(p.sum), In: values(x(3, 4), axis)},
			optest.Case{Name: "product of zeros " + p.name, Config: op.CumProdConfig(p.sum), In: values(optest.Floats([]int{4}, 1, 0, 3, 0), axis)},
		)
	}
	optest.Fails(t, optest.Case{Name: "k", Config: op.TopKConfig{}, In: values(x(3, 5), optest.Ints(6)), Outputs: 2, Refusal: "k is 6, the axis has 5"})
	optest.Fails(t, optest.Case{Name: "empty", Config: op.ArgMaxConfig{}, In: values(x(0, 5)), Refusal: "axis 0 has no elements"})
}
