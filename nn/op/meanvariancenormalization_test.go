package op_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
)

func TestMeanVarianceNormalization(t *testing.T) {
	x := optest.Spread(1, -2, 2, 2, 3, 4, 2)
	optest.Run(t,
		optest.Case{Name: "mean variance", Config: op.MeanVarianceNormalizationConfig{}, In: values(x)},
		optest.Case{Name: "mean variance axes", Config: op.MeanVarianceNormalizationConfig{Axes: []int{-1, 1}}, In: values(x)},
	)
	optest.Fails(t, optest.Case{Name: "axes", Config: op.MeanVarianceNormalizationConfig{Axes: []int{1, 1}}, In: values(x), Refusal: "axis 1 is given twice"})
}
