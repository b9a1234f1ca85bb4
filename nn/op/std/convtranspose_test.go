package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestConvTranspose(t *testing.T) {
	x := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	w := func(shape ...int) dtype.Value { return optest.Rand(2, shape...) }
	optest.Run(t,
		optest.Case{Name: "plain", Config: std.ConvTransposeConfig{}, In: values(x(2, 3, 4, 3), w(3, 2, 3, 2))},
		optest.Case{Name: "bias pads strides", Config: std.ConvTransposeConfig{Pads: []int{1, 0, 0, 1}, Strides: []int{2, 3}},
			In: values(x(2, 3, 3, 3), w(3, 2, 3, 3), optest.Rand(3, 2))},
		optest.Case{Name: "output_padding dilations", Config: std.ConvTransposeConfig{OutputPadding: []int{1, 0}, Strides: []int{2, 2}, Dilations: []int{2, 1}},
			In: values(x(1, 2, 3, 3), w(2, 2, 2, 2))},
		optest.Case{Name: "output_shape", Config: std.ConvTransposeConfig{OutputShape: []int{8, 7}, Strides: []int{3, 2}, Kernel: []int{3, 3}},
			In: values(x(1, 2, 3, 3), w(2, 2, 3, 3))},
		optest.Case{Name: "same upper", Config: std.ConvTransposeConfig{AutoPad: "SAME_UPPER", Strides: []int{2, 2}}, In: values(x(1, 2, 3, 3), w(2, 2, 3, 3))},
		optest.Case{Name: "same lower", Config: std.ConvTransposeConfig{AutoPad: "SAME_LOWER", Strides: []int{2, 2}}, In: values(x(1, 2, 3, 3), w(2, 2, 3, 3))},
		optest.Case{Name: "valid 1-D", Config: std.ConvTransposeConfig{AutoPad: "VALID"}, In: values(x(1, 2, 3), w(2, 2, 3)), Version: 1},
		optest.Case{Name: "groups", Config: std.ConvTransposeConfig{Group: 2}, In: values(x(1, 4, 3, 3), w(4, 3, 2, 2), optest.Rand(3, 6))},
		optest.Case{Name: "3-D", Config: std.ConvTransposeConfig{}, In: values(x(1, 2, 2, 3, 2), w(2, 1, 2, 2, 2))},
	)
	for _, c := range []optest.Case{
		{Name: "pads eat everything", Config: std.ConvTransposeConfig{Pads: []int{3, 3, 3, 3}}, In: values(x(1, 2, 2, 2), w(2, 2, 2, 2)), Refusal: "padding of spatial axis 0 leaves no output (length 3 before padding)"},
		{Name: "nothing", Config: std.ConvTransposeConfig{}, In: values(x(1, 2, 2, 0), w(2, 2, 2, 0)), Refusal: "spatial axis 1 has no output: X has 0 elements, the kernel 0"},
		{Name: "channels", Config: std.ConvTransposeConfig{}, In: values(x(1, 3, 2, 2), w(2, 2, 2, 2)), Refusal: "X has 3 channels, the weight 2"},
		{Name: "negative output_shape", Config: std.ConvTransposeConfig{OutputShape: []int{-1, 4}}, In: values(x(1, 2, 2, 2), w(2, 2, 2, 2)), Refusal: "output_padding [0 0], output_shape [-1 4] are out of range"},
		{Name: "huge output_padding", Config: std.ConvTransposeConfig{OutputPadding: []int{1 << 31, 1 << 31}}, In: values(x(1, 2, 2, 2), w(2, 2, 2, 2)), Refusal: "output of shape float32[1,2,2147483651,2147483651] is too large"},
	} {
		optest.Fails(t, c)
	}
}

// TestConvTransposeOfNothing: an axis without elements has the length of the kernel less the stride, and only the bias.
func TestConvTransposeOfNothing(t *testing.T) {
	optest.Run(t, optest.Case{Config: std.ConvTransposeConfig{}, In: []dtype.Value{optest.Rand(1, 1, 2, 2, 0), optest.Rand(2, 2, 1, 2, 3), optest.Floats([]int{1}, 5)},
		Want: []dtype.Value{optest.Floats([]int{1, 1, 3, 2}, 5, 5, 5, 5, 5, 5)}, NoCut: "nothing to cut"})
}
