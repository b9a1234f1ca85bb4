package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestSoftmax(t *testing.T) {
	x := optest.Rand(1, 2, 3, 4)
	optest.Run(t,
		optest.Case{Name: "last", Config: std.SoftmaxConfig{}, In: values(x)},
		optest.Case{Name: "axis", Config: std.SoftmaxConfig{Axis: integer(1)}, In: values(x)},
		optest.Case{Name: "axis 0", Config: std.SoftmaxConfig{Axis: integer(0)}, In: values(x)},
		optest.Case{Name: "flattened", Config: std.SoftmaxConfig{}, In: values(x), Version: 11},
		optest.Case{Name: "old axis", Config: std.SoftmaxConfig{Axis: integer(2)}, In: values(x), Version: 1},
		optest.Case{Name: "log last", Config: std.LogSoftmaxConfig{}, In: values(x)},
		optest.Case{Name: "log axis", Config: std.LogSoftmaxConfig{Axis: integer(-2)}, In: values(x)},
		optest.Case{Name: "log flattened", Config: std.LogSoftmaxConfig{}, In: values(x), Version: 1},
		optest.Case{Name: "hard", Config: std.HardmaxConfig{}, In: values(optest.Floats([]int{2, 3}, 1, 3, 3, 0, -1, -2)),
			Want: values(optest.Floats([]int{2, 3}, 0, 1, 0, 1, 0, 0))},
		optest.Case{Name: "hard axis", Config: std.HardmaxConfig{Axis: integer(0)}, In: values(optest.Floats([]int{2, 3}, 1, 3, 3, 2, -1, -2)),
			Want: values(optest.Floats([]int{2, 3}, 0, 1, 1, 1, 0, 0))},
		optest.Case{Name: "hard flattened", Config: std.HardmaxConfig{}, In: values(optest.Spread(1, -1, 1, 2, 2, 2)), Version: 11},
	)
	optest.Fails(t, optest.Case{Name: "axis", Config: std.SoftmaxConfig{Axis: integer(3)}, In: values(x), Refusal: "axis 3 is outside of [-3, 2]"})
}
