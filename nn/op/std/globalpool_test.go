package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestGlobalPools(t *testing.T) {
	optest.Run(t,
		optest.Case{Name: "average", Config: op.Plain("GlobalAveragePool"), In: values(spread(2, 3, 4, 5))},
		optest.Case{Name: "max", Config: op.Plain("GlobalMaxPool"), In: values(spread(2, 3, 4, 5))},
		optest.Case{Name: "L2", Config: std.GlobalLpPoolConfig{}, In: values(spread(2, 3, 4))},
		optest.Case{Name: "L3", Config: std.GlobalLpPoolConfig{P: 3}, In: values(spread(2, 3, 2, 2, 3))},
	)
	optest.Fails(t, optest.Case{Name: "rank", Config: op.Plain("GlobalMaxPool"), In: values(spread(3)), Refusal: "input X: want batch, channels and spatial axes, got float32[3]"})
}
