package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestAveragePool(t *testing.T) {
	k := []int{3, 2}
	optest.Run(t,
		optest.Case{Name: "plain", Config: std.AveragePoolConfig{Kernel: k}, In: values(spread(2, 3, 5, 6))},
		optest.Case{Name: "pads", Config: std.AveragePoolConfig{Kernel: k, Pads: []int{1, 0, 2, 1}, Strides: []int{2, 2}}, In: values(spread(2, 2, 6, 6))},
		optest.Case{Name: "count", Config: std.AveragePoolConfig{Kernel: k, Pads: []int{1, 0, 2, 1}, Strides: []int{2, 2}, CountIncludePad: true, CeilMode: true}, In: values(spread(2, 2, 6, 6))},
		optest.Case{Name: "dilations", Config: std.AveragePoolConfig{Kernel: k, Dilations: []int{2, 3}}, In: values(spread(1, 2, 6, 7))},
		optest.Case{Name: "same", Config: std.AveragePoolConfig{Kernel: k, AutoPad: "SAME_LOWER", Strides: []int{2, 1}}, In: values(spread(1, 2, 5, 5))},
		optest.Case{Name: "old 1-D", Config: std.AveragePoolConfig{Kernel: []int{3}}, In: values(spread(1, 2, 5)), Version: 1},
	)
}
