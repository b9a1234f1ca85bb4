package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestRMSNormalization(t *testing.T) {
	x := optest.Rand(1, 3, 2, 4)
	s := func(shape ...int) dtype.Value { return optest.Rand(2, shape...) }
	optest.Run(t,
		optest.Case{Name: "rms", Config: std.RMSNormalizationConfig{}, In: values(x, s(4))},
		optest.Case{Name: "rms axes", Config: std.RMSNormalizationConfig{Axis: integer(-2), Epsilon: number(1e-3), StashType: dtype.Float64}, In: values(x, s(4))},
	)
	optest.Fails(t, optest.Case{Name: "scale", Config: std.RMSNormalizationConfig{}, In: values(x, s(3)), Refusal: "input scale: want float32[4], got float32[3]"})
}
