package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func truth(b bool) *bool { return &b }

func texts(shape []int, s ...string) dtype.Value {
	v, err := dtype.NewStrings(s, shape...)
	if err != nil {
		panic(err)
	}
	return v
}

const fixedShape = "the shape is a constant of the case"

func TestReshape(t *testing.T) {
	x := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	optest.Run(t,
		optest.Case{Name: "flat", Config: std.ReshapeConfig{}, In: values(x(2, 3, 4), optest.Ints(0, -1)), NoCut: fixedShape},
		optest.Case{Name: "copy and rest", Config: std.ReshapeConfig{}, In: values(x(2, 3, 4), optest.Ints(0, 2, -1)), NoCut: fixedShape},
		optest.Case{Name: "attribute", Config: std.ReshapeConfig{Shape: []int{4, 6}}, Version: 1, In: values(x(2, 3, 4)), NoCut: fixedShape},
		optest.Case{Name: "consumed", Config: std.ReshapeConfig{Shape: []int{4, 6}, ConsumedInputs: []int{0}}, Version: 1, In: values(x(2, 3, 4)), NoCut: fixedShape},
		optest.Case{Name: "zero", Config: std.ReshapeConfig{AllowZero: true}, In: values(x(0, 3, 4), optest.Ints(3, 0)), NoCut: fixedShape},
		optest.Case{Name: "scalar", Config: std.ReshapeConfig{}, In: values(x(1, 1), dtype.New(dtype.Int64, 0)), NoCut: fixedShape},
		optest.Case{Name: "strings", Config: std.ReshapeConfig{}, In: values(texts([]int{2, 2}, "a", "b", "c", "d"), optest.Ints(4)),
			Want: values(texts([]int{4}, "a", "b", "c", "d")), NoCut: fixedShape},
	)
	for _, k := range []optest.Case{
		{Name: "two rests", Config: std.ReshapeConfig{}, In: values(x(2, 3), optest.Ints(-1, -1)), Refusal: "target [-1 -1] has more than one -1"},
		{Name: "count", Config: std.ReshapeConfig{}, In: values(x(2, 3), optest.Ints(4)), Refusal: "cannot make [4] of float32[2,3]: the numbers of elements differ"},
		{Name: "no fit", Config: std.ReshapeConfig{}, In: values(x(2, 3), optest.Ints(4, -1)), Refusal: "cannot make [4 -1] of float32[2,3]: no length fits -1"},
		{Name: "negative", Config: std.ReshapeConfig{}, In: values(x(2, 3), optest.Ints(-6)), Refusal: "target [-6] has a negative dimension"},
		{Name: "copy too far", Config: std.ReshapeConfig{}, In: values(x(2, 3), optest.Ints(2, 3, 0)), Refusal: "target [2 3 0] has a 0 at position 2, but the input is float32[2,3]"},
		{Name: "no target", Config: std.ReshapeConfig{}, In: values(x(2, 3)), Refusal: "input shape: want a value, got nothing"},
	} {
		optest.Fails(t, k)
	}
}

func TestShapeSizeConstant(t *testing.T) {
	x := optest.Rand(1, 2, 3, 4)
	optest.Run(t,
		optest.Case{Name: "shape", Config: std.ShapeConfig{}, In: values(x), Want: values(optest.Ints(2, 3, 4))},
		optest.Case{Name: "part", Config: std.ShapeConfig{Start: -2, End: integer(-1)}, In: values(x), Want: values(optest.Ints(3))},
		optest.Case{Name: "of strings", Config: std.ShapeConfig{}, In: values(texts([]int{2}, "a", "b")), Want: values(optest.Ints(2)), NoGrad: "integers"},
		optest.Case{Name: "size", Config: op.Plain("Size"), In: values(x), Want: values(optest.Tensor([]int64{24}))},
		optest.Case{Name: "value", Config: std.ConstantConfig{Value: x}, Want: values(x)},
		optest.Case{Name: "sparse", Config: std.ConstantConfig{SparseValue: x}, Want: values(x)},
		optest.Case{Name: "float", Config: std.ConstantConfig{ValueFloat: number(1.5)}, Want: values(optest.Tensor([]float32{1.5}))},
		optest.Case{Name: "floats", Config: std.ConstantConfig{ValueFloats: []float32{1, 2}}, Want: values(optest.Floats([]int{2}, 1, 2))},
		optest.Case{Name: "int", Config: std.ConstantConfig{ValueInt: integer(7)}, Want: values(optest.Tensor([]int64{7}))},
		optest.Case{Name: "ints", Config: std.ConstantConfig{ValueInts: []int{7, 8}}, Want: values(optest.Ints(7, 8))},
		optest.Case{Name: "strings", Config: std.ConstantConfig{ValueStrings: []string{"a"}}, Want: values(texts([]int{1}, "a"))},
		optest.Case{Name: "of shape", Config: std.ConstantOfShapeConfig{}, In: values(optest.Ints(2, 1)), Want: values(optest.Floats([]int{2, 1}, 0, 0))},
		optest.Case{Name: "of shape, value", Config: std.ConstantOfShapeConfig{Value: optest.Ints(-1)}, In: values(optest.Ints(3)), Want: values(optest.Ints(-1, -1, -1))},
	)
	text := "s"
	optest.Run(t, optest.Case{Name: "string", Config: std.ConstantConfig{ValueString: &text}, Want: values(texts(nil, "s"))})
	optest.Fails(t, optest.Case{Name: "none", Config: std.ConstantConfig{}, Refusal: "wants one value, has 0"})
	optest.Fails(t, optest.Case{Name: "two", Config: std.ConstantConfig{Value: x, ValueInt: integer(1)}, Refusal: "wants one value, has 2"})
	optest.Fails(t, optest.Case{Name: "negative", Config: std.ConstantOfShapeConfig{}, In: values(optest.Ints(-1)), Refusal: "input input: want no negative dimension, got [-1]"})
}

func TestSqueezeUnsqueezeTransposeExpandTile(t *testing.T) {
	x := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	optest.Run(t,
		optest.Case{Name: "squeeze", Config: std.SqueezeConfig{}, In: values(x(1, 3, 1, 3))},
		optest.Case{Name: "squeeze axes", Config: std.SqueezeConfig{}, In: values(x(1, 3, 1, 2), optest.Ints(-2))},
		optest.Case{Name: "squeeze attribute", Config: std.SqueezeConfig{Axes: []int{0}}, Version: 11, In: values(x(1, 3, 1, 2))},
		optest.Case{Name: "unsqueeze", Config: std.UnsqueezeConfig{}, In: values(x(3, 2), optest.Ints(0, -1))},
		optest.Case{Name: "unsqueeze attribute", Config: std.UnsqueezeConfig{Axes: []int{1}}, Version: 11, In: values(x(3, 2))},
		optest.Case{Name: "transpose", Config: std.TransposeConfig{}, In: values(x(2, 3, 4))},
		optest.Case{Name: "perm", Config: std.TransposeConfig{Perm: []int{0, 3, 1, 2}}, In: values(x(2, 3, 4, 5))},
		optest.Case{Name: "perm back", Config: std.TransposeConfig{Perm: []int{2, 0, 1}}, In: values(x(2, 3, 4))},
		optest.Case{Name: "transpose one", Config: std.TransposeConfig{Perm: []int{1, 0, 2}}, In: values(x(1, 3, 4))},
		optest.Case{Name: "transpose strings", Config: std.TransposeConfig{}, In: values(texts([]int{2, 2}, "a", "b", "c", "d")), Want: values(texts([]int{2, 2}, "a", "c", "b", "d")), NoCut: "strings"},
		optest.Case{Name: "expand", Config: op.Plain("Expand"), In: values(x(3, 1), optest.Ints(2, 1, 4)), NoCut: fixedShape},
		optest.Case{Name: "expand small", Config: op.Plain("Expand"), In: values(x(2, 3), optest.Ints(1, 1)), NoCut: fixedShape},
		optest.Case{Name: "tile", Config: op.Plain("Tile"), In: values(x(2, 3), optest.Ints(2, 3))},
		optest.Case{Name: "tile one", Config: op.Plain("Tile"), In: values(x(2, 3, 2), optest.Ints(1, 2, 1))},
		optest.Case{Name: "tile old", Config: op.Plain("Tile"), Version: 1, In: values(x(2, 3), optest.Ints(2), optest.Ints(1))},
	)
	for _, k := range []optest.Case{
		{Name: "squeeze", Config: std.SqueezeConfig{}, In: values(x(2, 3), optest.Ints(0)), Refusal: "axis 0 of float32[2,3] has not length 1"},
		{Name: "unsqueeze twice", Config: std.UnsqueezeConfig{}, In: values(x(2, 3), optest.Ints(0, 0)), Refusal: "axis 0 is given twice"},
		{Name: "unsqueeze none", Config: std.UnsqueezeConfig{}, In: values(x(2, 3)), Refusal: "has no axes"},
		{Name: "perm", Config: std.TransposeConfig{Perm: []int{0, 0}}, In: values(x(2, 3)), Refusal: "axis 0 is given twice"},
		{Name: "expand", Config: op.Plain("Expand"), In: values(x(2, 3), optest.Ints(2, 2)), Refusal: "shapes [[2,3] [2,2]] do not broadcast: dimension 1 is 3 and 2"},
		{Name: "tile", Config: op.Plain("Tile"), In: values(x(2, 3), optest.Ints(2)), Refusal: "has 1 repeats for 2 axes"},
		{Name: "expand huge", Config: op.Plain("Expand"), In: values(x(1), optest.Ints(1<<40, 1<<40)), Refusal: "would give float32[1099511627776,1099511627776], more than fits in memory"},
		{Name: "tile negative", Config: op.Plain("Tile"), In: values(x(2, 3), optest.Ints(2, -1)), Refusal: "input repeats: want no negative dimension, got [2 -1]"},
	} {
		optest.Fails(t, k)
	}
}

func TestSlice(t *testing.T) {
	x := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	const moved = "starts and ends would have to follow"
	optest.Run(t,
		optest.Case{Name: "axes", Config: std.SliceConfig{}, In: values(x(4, 5), optest.Ints(1, -3), optest.Ints(3, 1<<40), optest.Ints(0, 1)), NoCut: moved},
		optest.Case{Name: "one axis", Config: std.SliceConfig{}, In: values(x(4, 5), optest.Ints(1), optest.Ints(3), optest.Ints(-1)), NoCut: moved},
		optest.Case{Name: "steps", Config: std.SliceConfig{}, In: values(x(7, 5), optest.Ints(1, 3), optest.Ints(7, 0), optest.Ints(0, 1), optest.Ints(2, -2)), NoCut: moved},
		optest.Case{Name: "backward", Config: std.SliceConfig{}, In: values(x(4, 3), optest.Ints(-1), optest.Ints(-1<<40), optest.Ints(0), optest.Ints(-1)), NoCut: moved},
		optest.Case{Name: "empty", Config: std.SliceConfig{}, In: values(x(4, 3), optest.Ints(3), optest.Ints(1)), NoCut: moved},
		optest.Case{Name: "attributes", Config: std.SliceConfig{Starts: []int{1}, Ends: []int{3}, Axes: []int{1}}, Version: 1, In: values(x(4, 5)),
			Resize: func(c *optest.Case, cut map[coupling.Axis][]int) {
				cfg := std.SliceConfig{Starts: []int{1}, Ends: []int{3}, Axes: []int{1}}
				for _, i := range cut[coupling.In(0, 1)] {
					if i < 1 {
						cfg.Starts[0]--
					}
					if i < 3 {
						cfg.Ends[0]--
					}
				}
				c.Config = cfg
			}},
		optest.Case{Name: "strings", Config: std.SliceConfig{}, In: values(texts([]int{3}, "a", "b", "c"), optest.Ints(1), optest.Ints(3)), Want: values(texts([]int{2}, "b", "c")), NoCut: moved},
	)
	for _, k := range []optest.Case{
		{Name: "step", Config: std.SliceConfig{}, In: values(x(4, 5), optest.Ints(0), optest.Ints(1), optest.Ints(0), optest.Ints(0)), Refusal: "step of axis 0 is 0"},
		{Name: "axes", Config: std.SliceConfig{}, In: values(x(4, 5), optest.Ints(0), optest.Ints(1), optest.Ints(2)), Refusal: "axis 2 is outside of [-2, 1]"},
		{Name: "lengths", Config: std.SliceConfig{}, In: values(x(4, 5), optest.Ints(0), optest.Ints(1, 2)), Refusal: "has 1 starts, 2 ends, 1 axes and 1 steps"},
	} {
		optest.Fails(t, k)
	}
}

func TestPad(t *testing.T) {
	x := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	pads := optest.Ints(1, 0, 2, 3)
	const moved = "elements are repeated"
	optest.Run(t,
		optest.Case{Name: "constant", Config: std.PadConfig{}, In: values(x(3, 4), pads), NoCut: "pads would have to follow"},
		optest.Case{Name: "value", Config: std.PadConfig{}, In: values(x(3, 4), pads, optest.Tensor([]float32{1.5})), NoCut: "pads would have to follow"},
		optest.Case{Name: "negative", Config: std.PadConfig{}, In: values(x(3, 4), optest.Ints(-1, 1, 2, -2)), NoCut: moved},
		optest.Case{Name: "reflect", Config: std.PadConfig{Mode: "reflect"}, In: values(x(3, 4), pads), NoCut: moved},
		optest.Case{Name: "reflect far", Config: std.PadConfig{Mode: "reflect"}, In: values(x(2, 3), optest.Ints(3, 0, 0, 5)), NoCut: moved},
		optest.Case{Name: "edge", Config: std.PadConfig{Mode: "edge"}, In: values(x(3, 4), pads), NoCut: moved},
		optest.Case{Name: "wrap", Config: std.PadConfig{Mode: "wrap"}, In: values(x(3, 4), pads), NoCut: moved},
		optest.Case{Name: "axes", Config: std.PadConfig{}, In: values(x(3, 4), optest.Ints(1, 2), nil, optest.Ints(-1)), NoCut: "pads would have to follow"},
		optest.Case{Name: "attributes", Config: std.PadConfig{Pads: []int{1, 0, 0, 2}, Value: 2, Mode: "constant"}, Version: 2, In: values(x(3, 4)), NoCut: "pads would have to follow"},
		optest.Case{Name: "oldest", Config: std.PadConfig{Paddings: []int{1, 0, 0, 2}, Value: 2}, Version: 1, In: values(x(3, 4)), NoCut: "pads would have to follow"},
		optest.Case{Name: "strings", Config: std.PadConfig{}, In: values(texts([]int{1}, "a"), optest.Ints(1, 0)), Want: values(texts([]int{2}, "", "a")), NoCut: "strings"},
	)
	for _, k := range []optest.Case{
		{Name: "mode", Config: std.PadConfig{Mode: "mirror"}, In: values(x(3, 4), pads), Refusal: "mode \"mirror\" is unknown"},
		{Name: "count", Config: std.PadConfig{}, In: values(x(3, 4), optest.Ints(1, 2)), Refusal: "has 2 pads for 2 axes"},
		{Name: "huge", Config: std.PadConfig{}, In: values(x(3), optest.Ints(0, 1<<40)), Refusal: "adds 1099511627776 elements to axis 0, at most 134217728 are possible"},
		{Name: "too much", Config: std.PadConfig{}, In: values(x(3), optest.Ints(-2, -2)), Refusal: "removes 2 and 2 elements of an axis of length 3"},
		{Name: "nothing to repeat", Config: std.PadConfig{Mode: "edge"}, In: values(x(0), optest.Ints(1, 0)), Refusal: "has nothing to repeat: axis 0 is empty"},
	} {
		optest.Fails(t, k)
	}
}

func TestDepthSpaceTriluReverseRange(t *testing.T) {
	x := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	optest.Run(t,
		optest.Case{Name: "DCR", Config: std.DepthToSpaceConfig{BlockSize: 2}, In: values(x(2, 8, 2, 3))},
		optest.Case{Name: "CRD", Config: std.DepthToSpaceConfig{BlockSize: 2, Mode: "CRD"}, In: values(x(2, 8, 2, 3))},
		optest.Case{Name: "to depth", Config: std.SpaceToDepthConfig{BlockSize: 2}, In: values(x(2, 2, 4, 6))},
		optest.Case{Name: "upper", Config: std.TriluConfig{}, In: values(x(2, 3, 4))},
		optest.Case{Name: "lower", Config: std.TriluConfig{Upper: truth(false)}, In: values(x(2, 3, 4), optest.Tensor([]int64{1}))},
		optest.Case{Name: "far", Config: std.TriluConfig{}, In: values(x(2, 3, 4), optest.Tensor([]int64{-1 << 60}))},
		optest.Case{Name: "reverse", Config: std.ReverseSequenceConfig{}, In: values(x(4, 2, 3), optest.Ints(3, 4)), NoCut: "lengths would have to follow"},
		optest.Case{Name: "reverse batch", Config: std.ReverseSequenceConfig{BatchAxis: integer(0), TimeAxis: 1}, In: values(x(2, 4, 3), optest.Ints(0, 2)), NoCut: "lengths would have to follow"},
		optest.Case{Name: "range", Config: op.Plain("Range"), In: values(optest.Tensor([]int64{10}), optest.Tensor([]int64{4}), optest.Tensor([]int64{-4})), Want: values(optest.Ints(10, 6))},
		optest.Case{Name: "range floats", Config: op.Plain("Range"), In: values(optest.Tensor([]float32{1}), optest.Tensor([]float32{2}), optest.Tensor([]float32{0.5})), Want: values(optest.Floats([]int{2}, 1, 1.5)), NoLow: "shape", NoGrad: "shape"},
		optest.Case{Name: "eye", Config: std.EyeLikeConfig{K: 1, DType: dtype.Int32}, In: values(x(2, 3)), Want: values(optest.Tensor([]int32{0, 1, 0, 0, 0, 1}, 2, 3))},
	)
	for _, k := range []optest.Case{
		{Name: "blocks", Config: std.DepthToSpaceConfig{BlockSize: 2}, In: values(x(1, 3, 2, 2)), Refusal: "cannot make blocks of 2×2 of 3 channels"},
		{Name: "block 0", Config: std.DepthToSpaceConfig{}, In: values(x(1, 4, 2, 2)), Refusal: "blocksize is 0"},
		{Name: "pixels", Config: std.SpaceToDepthConfig{BlockSize: 2}, In: values(x(1, 4, 3, 2)), Refusal: "cannot cut 3×2 pixels into blocks of 2×2"},
		{Name: "delta", Config: op.Plain("Range"), In: values(optest.Tensor([]int64{1}), optest.Tensor([]int64{4}), optest.Tensor([]int64{0})), Refusal: "delta is 0"},
		{Name: "length", Config: std.ReverseSequenceConfig{}, In: values(x(4, 2), optest.Ints(5, 1)), Refusal: "sequence 0 has length 5, the axis has 4"},
	} {
		optest.Fails(t, k)
	}
}
