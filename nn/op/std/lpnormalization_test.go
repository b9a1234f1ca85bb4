package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestLpNormalization(t *testing.T) {
	x := optest.Spread(1, -2, 2, 2, 3, 4, 2)
	optest.Run(t,
		optest.Case{Name: "L2", Config: std.LpNormalizationConfig{}, In: values(x)},
		optest.Case{Name: "L1", Config: std.LpNormalizationConfig{P: 1, Axis: integer(1)}, In: values(x)},
		optest.Case{Name: "nothing", Config: std.LpNormalizationConfig{}, In: values(optest.Floats([]int{2}, 0, 0)), Want: values(optest.Floats([]int{2}, 0, 0)), NoGrad: "a kink"},
	)
	optest.Fails(t, optest.Case{Name: "p", Config: std.LpNormalizationConfig{P: 3}, In: values(x), Refusal: "p is 3, want 1 or 2"})
}
