package op_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
)

func TestSoftmax(t *testing.T) {
	x := optest.Rand(1, 2, 3, 4)
	optest.Run(t,
		optest.Case{Name: "last", Config: op.SoftmaxConfig{}, In: values(x)},
		optest.Case{Name: "axis", Config: op.SoftmaxConfig{Axis: integer(1)}, In: values(x)},
		optest.Case{Name: "axis 0", Config: op.SoftmaxConfig{Axis: integer(0)}, In: values(x)},
		optest.Case{Name: "flattened", Config: op.SoftmaxConfig{}, In: values(x), Version: 11},
		optest.Case{Name: "old axis", Config: op.SoftmaxConfig{Axis: integer(2)}, In: values(x), Version: 1},
		optest.Case{Name: "log last", Config: op.LogSoftmaxConfig{}, In: values(x)},
		optest.Case{Name: "log axis", Config: op.LogSoftmaxConfig{Axis: integer(-2)}, In: values(x)},
		optest.Case{Name: "log flattened", Config: op.LogSoftmaxConfig{}, In: values(x), Version: 1},
		optest.Case{Name: "hard", Config: op.HardmaxConfig{}, In: values(optest.Floats([]int{2, 3}, 1, 3, 3, 0, -1, -2)),
			Want: values(optest.Floats([]int{2, 3}, 0, 1, 0, 1, 0, 0))},
		optest.Case{Name: "hard axis", Config: op.HardmaxConfig{Axis: integer(0)}, In: values(optest.Floats([]int{2, 3}, 1, 3, 3, 2, -1, -2)),
			Want: values(optest.Floats([]int{2, 3}, 0, 1, 1, 1, 0, 0))},
		optest.Case{Name: "hard flattened", Config: op.HardmaxConfig{}, In: values(optest.Spread(1, -1, 1, 2, 2, 2)), Version: 11},
	)
	optest.Fails(t, optest.Case{Name: "axis", Config: op.SoftmaxConfig{Axis: integer(3)}, In: values(x), Refusal: "axis 3 is outside of [-3, 2]"})
}
