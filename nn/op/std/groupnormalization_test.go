package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestGroupNormalization(t *testing.T) {
	x := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	optest.Run(t,
		optest.Case{Name: "instance", Config: std.InstanceNormalizationConfig{Epsilon: number(1e-2)}, In: values(x(2, 3, 4, 2), optest.Rand(2, 3), optest.Rand(3, 3))},
		optest.Case{Name: "old instance", Config: std.InstanceNormalizationConfig{ConsumedInputs: []int{0}}, In: values(x(2, 3, 4), optest.Rand(2, 3), optest.Rand(3, 3)), Version: 1},
		optest.Case{Name: "group", Config: std.GroupNormalizationConfig{NumGroups: 2, Epsilon: number(1e-2), StashType: 1}, In: values(x(2, 4, 3), optest.Rand(2, 4), optest.Rand(3, 4)), NoCut: "statistics"},
		optest.Case{Name: "per group", Config: std.GroupNormalizationConfig{NumGroups: 2}, In: values(x(2, 4, 3), optest.Rand(2, 2), optest.Rand(3, 2)), Version: 18, NoCut: "statistics"},
	)
	optest.Fails(t, optest.Case{Name: "groups", Config: std.GroupNormalizationConfig{NumGroups: 3}, In: values(x(2, 4, 3), optest.Rand(2, 4), optest.Rand(3, 4)), Refusal: "num_groups 3 does not divide 4 channels"})
	optest.Fails(t, optest.Case{Name: "none", Config: std.GroupNormalizationConfig{NumGroups: -1}, In: values(x(2, 4, 3), optest.Rand(2, 4), optest.Rand(3, 4)), Refusal: "num_groups -1 does not divide 4 channels"})
}
