package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestGridSample(t *testing.T) {
	x, grid := optest.Rand(1, 2, 2, 3, 4), optest.Spread(2, -1.31, 1.27, 2, 3, 2, 2)
	var list []optest.Case
	for _, mode := range []string{"linear", "cubic", "nearest"} {
		for _, padding := range []string{"zeros", "border", "reflection"} {
			for _, corners := range []bool{false, true} {
				name := mode + " " + padding
				if corners {
					name += " corners"
				}
				list = append(list, optest.Case{Name: name, Config: std.GridSampleConfig{Mode: mode, Padding: padding, AlignCorners: corners}, In: values(x, grid), NoLow: "positions"})
			}
		}
	}
	optest.Run(t, append(list,
		optest.Case{Name: "volume", Config: std.GridSampleConfig{}, In: values(optest.Rand(1, 1, 2, 2, 3, 4), optest.Spread(2, -0.9, 0.95, 1, 2, 1, 2, 3)), NoLow: "positions"})...)
	optest.Fails(t, optest.Case{Config: std.GridSampleConfig{Mode: "area"}, In: values(x, grid), Refusal: "mode \"area\" or padding mode \"zeros\" is unknown"})
}

func TestAffineGrid(t *testing.T) {
	theta := optest.Rand(1, 2, 2, 3)
	optest.Run(t,
		optest.Case{Name: "2d", Config: std.AffineGridConfig{}, In: values(theta, optest.Ints(2, 3, 4, 5)), NoCut: "pinned"},
		optest.Case{Name: "corners", Config: std.AffineGridConfig{AlignCorners: true}, In: values(theta, optest.Ints(2, 3, 4, 5)), NoCut: "pinned"},
		optest.Case{Name: "3d", Config: std.AffineGridConfig{}, In: values(optest.Rand(1, 1, 3, 4), optest.Ints(1, 3, 2, 2, 3)), NoCut: "pinned"})
	optest.Fails(t, optest.Case{Config: std.AffineGridConfig{}, In: values(theta, optest.Ints(2, 3, 4)), Refusal: "size has 3 entries, want 4 or 5"})
}

func TestDeformConv(t *testing.T) {
	x, w := optest.Rand(1, 1, 2, 4, 4), optest.Rand(2, 2, 2, 2, 2)
	offset := optest.Spread(3, -0.61, 0.63, 1, 8, 3, 3)
	optest.Run(t,
		optest.Case{Name: "plain", Config: std.DeformConvConfig{}, In: values(x, w, offset), NoLow: "positions"},
		optest.Case{Name: "all", Config: std.DeformConvConfig{Group: 2, OffsetGroup: 2, Pads: []int{1, 0, 1, 0}, Strides: []int{2, 1}, Dilations: []int{1, 2}, Kernel: []int{2, 2}},
			In: values(x, optest.Rand(2, 2, 1, 2, 2), optest.Spread(3, -0.6, 0.63, 1, 16, 3, 2), optest.Rand(4, 2), optest.Rand(5, 1, 8, 3, 2)), NoLow: "positions"})
	optest.Fails(t, optest.Case{Config: std.DeformConvConfig{OffsetGroup: 2}, In: values(x, w, offset), Refusal: "input offset: want float32[1,16,3,3], got float32[1,8,3,3]"})
}

func TestRoiAlign(t *testing.T) {
	x := optest.Rand(1, 2, 2, 6, 5)
	rois, index := optest.Floats([]int{2, 4}, 0.3, 0.4, 3.7, 4.9, 1.1, -0.2, 7.3, 5.6), optest.Ints(1, 0)
	for _, c := range []std.RoiAlignConfig{
		{Height: 2, Width: 3}, {Height: 2, Width: 2, Sampling: 2, Scale: number(0.7)}, {Mode: "max", Height: 2, Width: 2}, {Coordinates: "output_half_pixel", Height: 3, Width: 2},
	} {
		optest.Run(t, optest.Case{Name: c.Mode + c.Coordinates, Config: c, In: values(x, rois, index), NoLow: "positions"})
	}
	optest.Run(t, optest.Case{Name: "version 10", Config: std.RoiAlignConfig{}, Version: 10, In: values(x, rois, index), NoLow: "positions"})
	optest.Fails(t, optest.Case{Config: std.RoiAlignConfig{}, In: values(x, rois, optest.Ints(1, 2)), Refusal: "region 1 belongs to image 2 of 2"})
	regions := optest.Floats([]int{2, 5}, 0, 0, 1, 3, 4, 1, 1, 1, 4, 5)
	optest.Run(t, optest.Case{Name: "max pool", Config: std.MaxRoiPoolConfig{Shape: []int{2, 2}, Scale: number(0.8)}, In: values(x, regions), Constant: []int{1}, NoLow: "positions"})
}

func TestCol2Im(t *testing.T) {
	optest.Run(t,
		optest.Case{Name: "plain", Config: std.Col2ImConfig{}, In: values(optest.Rand(1, 1, 8, 4), optest.Ints(3, 3), optest.Ints(2, 2))},
		optest.Case{Name: "all", Config: std.Col2ImConfig{Dilations: []int{2, 1}, Pads: []int{1, 0, 1, 1}, Strides: []int{1, 2}}, In: values(optest.Rand(1, 2, 4, 8), optest.Ints(4, 3), optest.Ints(2, 2))},
		optest.Case{Name: "integers", Config: std.Col2ImConfig{}, In: values(optest.Tensor([]int32{1, 2, 3, 4}, 1, 2, 2), optest.Ints(3), optest.Ints(2)), Want: values(optest.Tensor([]int32{1, 5, 4}, 1, 1, 3))})
	optest.Fails(t, optest.Case{Config: std.Col2ImConfig{}, In: values(optest.Rand(1, 1, 8, 5), optest.Ints(3, 3), optest.Ints(2, 2)), Refusal: "has 5 blocks, the shapes make 4"})
}

func TestCenterCropPad(t *testing.T) {
	x := optest.Rand(1, 4, 5, 3)
	optest.Run(t,
		optest.Case{Name: "both", Config: std.CenterCropPadConfig{}, In: values(x, optest.Ints(7, 2, 3)), NoCut: "lengths"},
		optest.Case{Name: "axes", Config: std.CenterCropPadConfig{Axes: []int{-3}}, In: values(x, optest.Ints(1))},
		optest.Case{Name: "bytes", Config: std.CenterCropPadConfig{}, In: values(optest.Tensor([]uint8{1, 2}, 2), optest.Ints(5)), Want: values(optest.Tensor([]uint8{0, 1, 2, 0, 0}, 5)), NoCut: "lengths"})
	optest.Fails(t, optest.Case{Config: std.CenterCropPadConfig{}, In: values(x, optest.Ints(1)), Refusal: "has 1 lengths for 3 axes"})
}

func TestMaxUnpool(t *testing.T) {
	x, at := optest.Rand(1, 1, 1, 2, 2), optest.Tensor([]int64{5, 7, 13, 15}, 1, 1, 2, 2)
	cfg := std.MaxUnpoolConfig{Kernel: []int{2, 2}, Strides: []int{2, 2}}
	optest.Run(t,
		optest.Case{Name: "plain", Config: cfg, In: values(x, at)},
		optest.Case{Name: "larger", Config: cfg, In: values(x, at, optest.Ints(1, 1, 5, 5))},
		optest.Case{Name: "pads", Config: std.MaxUnpoolConfig{Kernel: []int{3, 3}, Strides: []int{2, 2}, Pads: []int{0, 0, 1, 1}}, In: values(x, at)})
	optest.Fails(t, optest.Case{Config: std.MaxUnpoolConfig{Kernel: []int{2}}, In: values(x, at), Refusal: "kernel_shape [2]: want 2 numbers"})
}

func TestDet(t *testing.T) {
	optest.Run(t, optest.Case{Name: "stack", Config: op.Plain("Det"), In: values(optest.Rand(1, 2, 3, 3)), NoLow: "differences of products"},
		optest.Case{Name: "one", Config: op.Plain("Det"), In: values(optest.Rand(1, 1, 1))})
	optest.Fails(t, optest.Case{Config: op.Plain("Det"), In: values(optest.Rand(1, 2, 3)), Refusal: "input X: want square matrices, got float32[2,3]"})
}

func TestTensorScatter(t *testing.T) {
	past, update := optest.Rand(1, 2, 3, 4, 2), optest.Rand(2, 2, 3, 2, 2)
	one := 1
	optest.Run(t,
		optest.Case{Name: "linear", Config: std.TensorScatterConfig{}, In: values(past, update, optest.Ints(1, 2))},
		optest.Case{Name: "circular", Config: std.TensorScatterConfig{Mode: "circular"}, In: values(past, update, optest.Ints(3, 0))},
		optest.Case{Name: "axis", Config: std.TensorScatterConfig{Axis: &one}, In: values(past, optest.Rand(2, 2, 2, 4, 2))})
	optest.Fails(t, optest.Case{Config: std.TensorScatterConfig{}, In: values(past, update, optest.Ints(3, 2)), Refusal: "cannot write 2 steps from 3 on into 4 (batch element 0)"})
}

func TestWindows(t *testing.T) {
	no, double := false, dtype.Float64
	for _, c := range []op.Config{std.HannWindowConfig{Periodic: &no, Output: double}, std.HammingWindowConfig{}, std.BlackmanWindowConfig{}} {
		optest.Run(t, optest.Case{Name: c.Operator().Name, Config: c, In: values(optest.Tensor([]int64{8}))})
		optest.Fails(t, optest.Case{Config: c, In: values(optest.Tensor([]int64{-1})), Refusal: "size [-1]: want one number from 0 to 1073741824"})
	}
}
