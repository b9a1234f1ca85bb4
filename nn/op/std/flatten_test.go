package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestFlatten(t *testing.T) {
	x := optest.Rand(1, 2, 3, 4)
	for _, axis := range []*int{nil, integer(0), integer(2), integer(-1), integer(3)} {
		optest.Run(t, optest.Case{Config: std.FlattenConfig{Axis: axis}, In: values(x)})
	}
	optest.Run(t, optest.Case{Name: "rank 0", Config: std.FlattenConfig{Axis: integer(0)}, In: values(optest.Floats(nil, 3)), Want: values(optest.Floats([]int{1, 1}, 3))})
	optest.Fails(t, optest.Case{Name: "axis", Config: std.FlattenConfig{Axis: integer(4)}, In: values(x), Refusal: "axis 4 is outside of [-3, 3]"})
}
