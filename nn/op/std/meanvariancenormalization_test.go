package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestMeanVarianceNormalization(t *testing.T) {
	x := optest.Spread(1, -2, 2, 2, 3, 4, 2)
	optest.Run(t,
		optest.Case{Name: "mean variance", Config: std.MeanVarianceNormalizationConfig{}, In: values(x)},
		optest.Case{Name: "mean variance axes", Config: std.MeanVarianceNormalizationConfig{Axes: []int{-1, 1}}, In: values(x)},
	)
	optest.Fails(t, optest.Case{Name: "axes", Config: std.MeanVarianceNormalizationConfig{Axes: []int{1, 1}}, In: values(x), Refusal: "axis 1 is given twice"})
}
