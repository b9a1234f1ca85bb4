package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestLpPool(t *testing.T) {
	k := []int{3, 2}
	optest.Run(t,
		optest.Case{Name: "plain", Config: std.LpPoolConfig{Kernel: k}, In: values(spread(2, 3, 5, 6))},
		optest.Case{Name: "all", Config: std.LpPoolConfig{Kernel: k, P: 3, Pads: []int{1, 0, 1, 1}, Strides: []int{2, 2}, CeilMode: true}, In: values(spread(2, 2, 6, 6))},
		optest.Case{Name: "L1 dilations", Config: std.LpPoolConfig{Kernel: k, P: 1, Dilations: []int{2, 1}}, In: values(spread(1, 2, 6, 6))},
		optest.Case{Name: "same", Config: std.LpPoolConfig{Kernel: k, AutoPad: "SAME_UPPER"}, In: values(spread(1, 2, 4, 4)), Version: 11},
	)
	optest.Fails(t, optest.Case{Name: "p", Config: std.LpPoolConfig{Kernel: k, P: -1}, In: values(spread(1, 1, 4, 4)), Refusal: "p is -1, want 1 or more"})
}
