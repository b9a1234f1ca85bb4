package std_test

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestClassLosses(t *testing.T) {
	x, x3 := optest.Rand(1, 4, 3), optest.Rand(1, 2, 3, 4)
	labels := optest.Ints(0, 2, 1, 2)
	spatial := optest.Tensor([]int32{0, 1, 2, 2, 1, 0, 0, 1}, 2, 4)
	weight := optest.Spread(2, 0.5, 2, 3)
	for _, reduction := range []string{"mean", "sum", "none"} {
		ce, nll := std.SoftmaxCrossEntropyLossConfig{Reduction: reduction}, std.NegativeLogLikelihoodLossConfig{Reduction: reduction}
		ceIgnore, nllIgnore := ce, nll
		ceIgnore.IgnoreIndex, nllIgnore.IgnoreIndex = integer(2), integer(0)
		optest.Run(t,
			optest.Case{Name: "ce " + reduction, Config: ce, In: values(x, labels)},
			optest.Case{Name: "ce weight " + reduction, Config: ce, In: values(x3, spatial, weight), Version: 12},
			optest.Case{Name: "ce ignore " + reduction, Config: ceIgnore, In: values(x, labels, weight), Outputs: 2},
			optest.Case{Name: "ce log_prob " + reduction, Config: ce, In: values(x, labels), Outputs: 2, Skip: []int{0}},
			optest.Case{Name: "nll " + reduction, Config: nll, In: values(x, labels)},
			optest.Case{Name: "nll weight " + reduction, Config: nll, In: values(x3, spatial, weight), Version: 12},
			optest.Case{Name: "nll ignore " + reduction, Config: nllIgnore, In: values(x, labels, weight)},
		)
	}
	ignored := std.SoftmaxCrossEntropyLossConfig{IgnoreIndex: integer(-1)}
	optest.Run(t, optest.Case{Name: "negative ignore_index", Config: ignored,
		In: values(optest.Floats([]int{2, 2}, 0, 0, 5, 1), optest.Ints(1, -1)), Want: values(optest.Floats(nil, float32(math.Log(2))))})
	for _, c := range []optest.Case{
		{Name: "label", Config: std.SoftmaxCrossEntropyLossConfig{}, In: values(x, optest.Ints(0, 1, 2, 3)), Refusal: "label 3 is outside of [0, 3)"},
		{Name: "negative label", Config: std.NegativeLogLikelihoodLossConfig{}, In: values(x, optest.Ints(0, 1, 2, -1)), Refusal: "label -1 is outside of [0, 3)"},
		{Name: "labels", Config: std.SoftmaxCrossEntropyLossConfig{}, In: values(x, optest.Ints(0, 1, 2)), Refusal: "input labels: want int64[4], got int64[3]"},
		{Name: "weights", Config: std.SoftmaxCrossEntropyLossConfig{}, In: values(x, labels, optest.Rand(1, 2)), Refusal: "input weights: want float32[3], got float32[2]"},
		{Name: "reduction", Config: std.SoftmaxCrossEntropyLossConfig{Reduction: "max"}, In: []dtype.Value{x, labels}, Refusal: "reduction \"max\" is unknown"},
	} {
		optest.Fails(t, c)
	}
}
