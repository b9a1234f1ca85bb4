package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestLayerNormalization(t *testing.T) {
	x := optest.Rand(1, 3, 2, 4)
	s := func(shape ...int) dtype.Value { return optest.Rand(2, shape...) }
	cfg := std.LayerNormalizationConfig{Axis: integer(1), Epsilon: number(1e-3)}
	optest.Run(t,
		optest.Case{Name: "last", Config: std.LayerNormalizationConfig{}, In: values(x, s(4), s(4))},
		optest.Case{Name: "axes", Config: cfg, In: values(x, s(2, 4))},
		optest.Case{Name: "outputs", Config: cfg, In: values(x, s(2, 4), s(2, 4)), Outputs: 3, NoLow: "Mean stays float32", NoGrad: "as does its difference"},
		optest.Case{Name: "only mean", Config: std.LayerNormalizationConfig{StashType: dtype.Float64}, In: values(x, s(4)), Outputs: 2, Skip: []int{0}},
		optest.Case{Name: "broadcast scale", Config: cfg, In: values(x, s(2, 1), s(1, 1, 4))},
		optest.Case{Name: "stash", Config: std.LayerNormalizationConfig{StashType: dtype.Float64}, In: values(x, s(4)), Outputs: 3},
	)
	optest.Fails(t, optest.Case{Name: "scale", Config: std.LayerNormalizationConfig{}, In: values(x, s(3)), Refusal: "input Scale: want float32[4], got float32[3]"})
	optest.Fails(t, optest.Case{Name: "scale over the batch", Config: std.LayerNormalizationConfig{}, In: values(x, s(3, 2, 4)), Refusal: "input Scale: want float32[4], got float32[3,2,4]"})
	optest.Fails(t, optest.Case{Name: "axis", Config: std.LayerNormalizationConfig{Axis: integer(3)}, In: values(x, s(3)), Refusal: "axis 3 is outside of [-3, 2]"})
}
