package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel/reduce"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// reductions returns the table. Add a row, and a configuration, to add an operator.
func reductions() []reduction {
	number := func(n int64) func(op.DType) int64 { return func(op.DType) int64 { return n } }
	plus := func(a, x int64) int64 { return a + x }
	since := []int{1, 11, 13, 18}
	minMax := []int{1, 11, 12, 13, 18, 20}
	late := []op.Version{{At: 12, New: op.Where{"T": {dtype.Int8, dtype.Int16, dtype.Uint8, dtype.Uint16}}}, {At: 20, New: op.Where{"T": {dtype.Bool}}}}
	return []reduction{
		{name: "ReduceSum", doc: "The sum over axes.", since: []int{1, 11, 13}, attrs: ReduceSumConfig{}, versions: reduceVersions[ReduceSumConfig](13),
			op: reduce.ReduceSum, start: number(0), add: plus, kind: gradSum,
			traits: op.Traits{Zero: op.ZeroFirst, Range: rangeScaled}},
		{name: "ReduceMean", doc: "The mean over axes.", since: since, attrs: ReduceMeanConfig{}, versions: reduceVersions[ReduceMeanConfig](18),
			op: reduce.ReduceMean, start: number(0), add: plus, last: quotient, kind: gradMean,
			traits: op.Traits{Zero: op.ZeroFirst, Range: op.RangeFirst}},
		{name: "ReduceMax", doc: "The largest element over axes.", since: minMax, attrs: ReduceMaxConfig{}, versions: reduceVersions[ReduceMaxConfig](18, late...), bool: true,
			op: reduce.ReduceMax, start: smallest, add: func(a, x int64) int64 { return max(a, x) }, kind: gradExtreme,
			traits: op.Traits{Zero: op.ZeroFirst, Range: op.RangeFirst}},
		{name: "ReduceMin", doc: "The smallest element over axes.", since: minMax, attrs: ReduceMinConfig{}, versions: reduceVersions[ReduceMinConfig](18, late...), bool: true,
			op: reduce.ReduceMin, start: largest, add: func(a, x int64) int64 { return min(a, x) }, kind: gradExtreme,
			traits: op.Traits{Zero: op.ZeroFirst, Range: op.RangeFirst}},
		{name: "ReduceProd", doc: "The product over axes.", since: since, attrs: ReduceProdConfig{}, versions: reduceVersions[ReduceProdConfig](18),
			op: reduce.ReduceProd, start: number(1), add: func(a, x int64) int64 { return a * x }, kind: gradProd,
			traits: op.Traits{Zero: op.ZeroFirst}},
		{name: "ReduceL1", doc: "The sum of absolute values over axes.", since: since, attrs: ReduceL1Config{}, versions: reduceVersions[ReduceL1Config](18),
			op: reduce.ReduceL1, start: number(0), add: func(a, x int64) int64 { return a + max(x, -x) }, kind: gradL1,
			traits: op.Traits{Zero: op.ZeroFirst, Range: rangeNonNegative}},
		{name: "ReduceL2", doc: "The square root of the sum of squares over axes.", since: since, attrs: ReduceL2Config{}, versions: reduceVersions[ReduceL2Config](18),
			op: reduce.ReduceSumSq, finish: math.Sqrt, kind: gradL2,
			traits: op.Traits{Zero: op.ZeroFirst, Range: rangeNonNegative}},
		{name: "ReduceLogSum", doc: "The logarithm of the sum over axes.", since: since, attrs: ReduceLogSumConfig{}, versions: reduceVersions[ReduceLogSumConfig](18),
			op: reduce.ReduceSum, finish: math.Log, kind: gradLogSum},
		{name: "ReduceLogSumExp", doc: "The logarithm of the sum of exponentials over axes.", since: since, attrs: ReduceLogSumExpConfig{}, versions: reduceVersions[ReduceLogSumExpConfig](18),
			op: reduce.ReduceSum, finish: math.Log, kind: gradLogSumExp},
		{name: "ReduceSumSquare", doc: "The sum of squares over axes.", since: since, attrs: ReduceSumSquareConfig{}, versions: reduceVersions[ReduceSumSquareConfig](18),
			op: reduce.ReduceSumSq, start: number(0), add: func(a, x int64) int64 { return a + x*x }, kind: gradSumSquare,
			traits: op.Traits{Zero: op.ZeroFirst, Range: rangeNonNegative}},
	}
}

func quotient(a, n int64) int64 {
	if n == 0 {
		return 0
	}
	return a / n
}

// smallest returns the least number of an integer type (or bool): the largest of nothing.
func smallest(t op.DType) int64 {
	if t == dtype.Bool || t.IsUnsigned() {
		return 0
	}
	return -1 << (min(t.Bits(), 64) - 1)
}

// largest returns the greatest number of an integer type (or bool), as the bits of an int64.
func largest(t op.DType) int64 {
	switch {
	case t == dtype.Bool:
		return 1
	case t == dtype.Uint64:
		return -1
	case t.IsUnsigned():
		return 1<<t.Bits() - 1
	}
	return 1<<(t.Bits()-1) - 1
}

func isInf(x float64) bool { return math.IsInf(x, 0) }
