package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

// values lists the operands of a case; nil tensors stay absent.
func values(in ...dtype.Value) []dtype.Value { return in }

// regroup follows a cut of the weight's channels of a depthwise convolution.
func regroup(c *optest.Case, cut map[coupling.Axis][]int) {
	cfg := c.Config.(std.ConvConfig)
	if cfg.Group > 1 && len(cut[coupling.In(1, 1)]) == 0 {
		cfg.Group -= len(cut[coupling.In(0, 1)])
		c.Config = cfg
	}
}

func TestConv(t *testing.T) {
	x := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	w := func(shape ...int) dtype.Value { return optest.Rand(2, shape...) }
	b := func(n int) dtype.Value { return optest.Rand(3, n) }
	optest.Run(t,
		optest.Case{Name: "plain", Config: std.ConvConfig{}, In: values(x(2, 3, 5, 6), w(4, 3, 3, 2))},
		optest.Case{Name: "bias pads strides", Config: std.ConvConfig{Pads: []int{1, 2, 0, 1}, Strides: []int{2, 3}},
			In: values(x(2, 3, 7, 6), w(2, 3, 3, 3), b(2))},
		optest.Case{Name: "dilations", Config: std.ConvConfig{Dilations: []int{2, 3}, Kernel: []int{2, 2}}, In: values(x(1, 2, 6, 7), w(2, 2, 2, 2))},
		optest.Case{Name: "groups", Config: std.ConvConfig{Group: 2}, In: values(x(2, 4, 5, 5), w(6, 2, 3, 3), b(6)), Resize: regroup},
		optest.Case{Name: "depthwise", Config: std.ConvConfig{Group: 3, Pads: []int{1, 1, 1, 1}}, In: values(x(2, 3, 5, 5), w(6, 1, 3, 3)), Resize: regroup},
		optest.Case{Name: "same upper", Config: std.ConvConfig{AutoPad: "SAME_UPPER", Strides: []int{2, 2}}, In: values(x(1, 2, 5, 6), w(2, 2, 2, 3))},
		optest.Case{Name: "same lower", Config: std.ConvConfig{AutoPad: "SAME_LOWER"}, In: values(x(1, 2, 5, 6), w(2, 2, 2, 2))},
		optest.Case{Name: "valid", Config: std.ConvConfig{AutoPad: "VALID"}, In: values(x(1, 2, 5, 6), w(2, 2, 2, 2)), Version: 1},
		optest.Case{Name: "1-D", Config: std.ConvConfig{Strides: []int{2}}, In: values(x(2, 2, 9), w(3, 2, 3), b(3))},
		optest.Case{Name: "3-D", Config: std.ConvConfig{Pads: []int{1, 0, 1, 0, 1, 0}}, In: values(x(1, 2, 3, 4, 3), w(2, 2, 2, 2, 2))},
		optest.Case{Name: "known", Config: std.ConvConfig{}, In: values(optest.Floats([]int{1, 1, 3}, 1, 2, 3), optest.Floats([]int{1, 1, 2}, 10, 1)),
			Want: values(optest.Floats([]int{1, 1, 2}, 12, 23))},
	)
}

func TestConvRefuses(t *testing.T) {
	x, w := optest.Rand(1, 1, 4, 5, 5), optest.Rand(2, 2, 4, 3, 3)
	for _, c := range []optest.Case{
		{Name: "kernel larger than the input", Config: std.ConvConfig{Dilations: []int{3, 3}}, In: values(x, w), Refusal: "spatial axis 0 of length 5 with padding 0+0 is shorter than the kernel's 7"},
		{Name: "negative pads", Config: std.ConvConfig{Pads: []int{-1, 0, 0, 0}}, In: values(x, w), Refusal: "pads [-1 0 0 0]: -1 is out of range"},
		{Name: "zero stride", Config: std.ConvConfig{Strides: []int{0, 1}}, In: values(x, w), Refusal: "strides [0 1]: 0 is out of range"},
		{Name: "group that does not divide", Config: std.ConvConfig{Group: 3}, In: values(x, w), Refusal: "group 3 does not divide 2 channels"},
		{Name: "channels", Config: std.ConvConfig{Group: 2}, In: values(x, w), Refusal: "input X: want float32[1,8] and spatial axes, got float32[1,4,5,5]"},
		{Name: "negative group", Config: std.ConvConfig{Group: -2}, In: values(x, w), Refusal: "group -2 does not divide 2 channels"},
		{Name: "kernel_shape", Config: std.ConvConfig{Kernel: []int{2, 3}}, In: values(x, w), Refusal: "kernel_shape is [2 3], the weight float32[2,4,3,3]"},
		{Name: "negative kernel_shape", Config: std.ConvConfig{Kernel: []int{-5, -5}}, In: values(x, w), Refusal: "kernel_shape is [-5 -5], the weight float32[2,4,3,3]"},
		{Name: "bias", Config: std.ConvConfig{}, In: values(x, w, optest.Rand(1, 3)), Refusal: "input B: want float32[2], got float32[3]"},
		{Name: "huge pads", Config: std.ConvConfig{Pads: []int{1 << 31, 1 << 31, 1 << 31, 1 << 31}}, In: values(x, w), Refusal: "spatial axes [5 5] padded by [2147483648 2147483648] and [2147483648 2147483648] are too large"},
		{Name: "auto_pad", Config: std.ConvConfig{AutoPad: "SAME"}, In: values(x, w), Refusal: "auto_pad \"SAME\" is unknown"},
		{Name: "rank", Config: std.ConvConfig{}, In: values(optest.Rand(1, 4, 4), w), Refusal: "input X: want batch, channels and 1 to 3 spatial axes, got float32[4,4]"},
	} {
		optest.Fails(t, c)
	}
}
