package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func spread(shape ...int) dtype.Value { return optest.Spread(1, -2, 2, shape...) }

func TestMaxPool(t *testing.T) {
	k := []int{2, 3}
	optest.Run(t,
		optest.Case{Name: "plain", Config: std.MaxPoolConfig{Kernel: k}, In: values(spread(2, 3, 5, 6))},
		optest.Case{Name: "all", Config: std.MaxPoolConfig{Kernel: k, Pads: []int{1, 0, 0, 1}, Strides: []int{2, 2}, CeilMode: true}, Outputs: 2, In: values(spread(2, 2, 6, 6)),
			NoCut: "a cut renumbers the indices"},
		optest.Case{Name: "dilations", Config: std.MaxPoolConfig{Kernel: k, Dilations: []int{2, 2}}, In: values(spread(1, 2, 6, 7))},
		optest.Case{Name: "column-major", Config: std.MaxPoolConfig{Kernel: []int{2, 2}, Strides: []int{2, 2}, StorageOrder: 1}, Outputs: 2, NoCut: "indices",
			In:   values(optest.Floats([]int{1, 1, 2, 4}, 1, 2, 3, 4, 5, 6, 7, 8)),
			Want: values(optest.Floats([]int{1, 1, 1, 2}, 6, 8), optest.Tensor([]int64{3, 7}, 1, 1, 1, 2))},
		optest.Case{Name: "only indices", Config: std.MaxPoolConfig{Kernel: []int{2, 2}}, Outputs: 2, Skip: []int{0}, NoCut: "indices", In: values(spread(1, 1, 3, 3))},
		optest.Case{Name: "same upper", Config: std.MaxPoolConfig{Kernel: k, AutoPad: "SAME_UPPER", Strides: []int{2, 2}}, In: values(spread(1, 2, 5, 5))},
		optest.Case{Name: "same lower", Config: std.MaxPoolConfig{Kernel: k, AutoPad: "SAME_LOWER"}, In: values(spread(1, 2, 5, 5))},
		optest.Case{Name: "valid 1-D", Config: std.MaxPoolConfig{Kernel: []int{3}, AutoPad: "VALID"}, In: values(spread(1, 2, 5)), Version: 1},
		optest.Case{Name: "3-D", Config: std.MaxPoolConfig{Kernel: []int{2, 2, 2}}, In: values(spread(1, 2, 3, 4, 3))},
		optest.Case{Name: "uint8", Config: std.MaxPoolConfig{Kernel: []int{2}}, In: values(optest.Tensor([]uint8{1, 255, 3}, 1, 1, 3)),
			Want: values(optest.Tensor([]uint8{255, 255}, 1, 1, 2))},
	)
	for _, c := range []optest.Case{
		{Name: "padding of a kernel", Config: std.MaxPoolConfig{Kernel: []int{2, 2}, Pads: []int{2, 0, 0, 0}}, In: values(spread(1, 1, 4, 4)), Refusal: "padding 2+0 of spatial axis 0 is not smaller than the kernel's 2"},
		{Name: "kernel rank", Config: std.MaxPoolConfig{Kernel: []int{2}}, In: values(spread(1, 1, 4, 4)), Refusal: "kernel has 1 dimensions, the input 2 spatial ones"},
		{Name: "negative kernel", Config: std.MaxPoolConfig{Kernel: []int{-2, 2}}, In: values(spread(1, 1, 4, 4)), Refusal: "spatial axis 0 of length 4 with padding 0+0 is shorter than the kernel's ?"},
	} {
		optest.Fails(t, c)
	}
}
