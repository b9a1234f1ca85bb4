package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestResize(t *testing.T) {
	x := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	roi := dtype.Value(nil)
	scales := func(f ...float32) dtype.Value { return optest.Floats([]int{len(f)}, f...) }
	const fixed = "the scales are those of the case"
	a := number(-0.5)
	var list []optest.Case
	for _, coordinates := range []string{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"} {
		for _, mode := range []string{"nearest", "linear", "cubic"} {
			list = append(list, optest.Case{Name: mode + " " + coordinates, Config: std.ResizeConfig{Mode: mode, Coordinates: coordinates},
				In: values(x(1, 2, 3, 4), roi, scales(1, 1, 2, 0.6))})
		}
	}
	for _, nearest := range []string{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"} {
		list = append(list, optest.Case{Name: nearest, Config: std.ResizeConfig{Nearest: nearest}, In: values(x(1, 1, 4, 5), roi, nil, optest.Ints(1, 1, 6, 3)), NoCut: fixed})
	}
	for _, policy := range []string{"not_larger", "not_smaller"} {
		list = append(list, optest.Case{Name: policy, Config: std.ResizeConfig{Mode: "linear", KeepAspectRatio: policy, Axes: []int{2, 3}}, In: values(x(1, 2, 4, 5), roi, nil, optest.Ints(7, 8))})
	}
	optest.Run(t, append(list,
		optest.Case{Name: "cubic", Config: std.ResizeConfig{Mode: "cubic", CubicA: a, ExcludeOutside: true}, In: values(x(1, 1, 4, 4), roi, scales(1, 1, 1.5, 2))},
		optest.Case{Name: "antialias", Config: std.ResizeConfig{Mode: "linear", Antialias: true}, In: values(x(1, 1, 6, 7), roi, scales(1, 1, 0.5, 0.4))},
		optest.Case{Name: "antialias cubic", Config: std.ResizeConfig{Mode: "cubic", Antialias: true}, In: values(x(1, 1, 6, 7), roi, scales(1, 1, 0.5, 0.4))},
		optest.Case{Name: "crop", Config: std.ResizeConfig{Mode: "linear", Coordinates: "tf_crop_and_resize", Extrapolation: 5},
			In: values(x(1, 1, 4, 4), scales(0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7), nil, optest.Ints(1, 1, 3, 3)), NoCut: fixed},
		optest.Case{Name: "version 10", Config: std.ResizeConfig{Mode: "linear"}, Version: 10, In: values(x(1, 2, 3, 4), scales(1, 1, 2, 0.5))},
		optest.Case{Name: "uint8", Config: std.ResizeConfig{}, In: values(optest.Tensor([]uint8{1, 2}, 2), nil, scales(2)), Want: values(optest.Tensor([]uint8{1, 1, 2, 2}, 4))},
		optest.Case{Name: "upsample", Config: std.UpsampleConfig{Mode: "linear"}, Version: 9, In: values(x(1, 2, 2, 3), scales(1, 1, 2, 3))},
		optest.Case{Name: "upsample attribute", Config: std.UpsampleConfig{Scales: []float32{1, 1, 2, 3}}, Version: 7, In: values(x(1, 2, 2, 3))},
		optest.Case{Name: "upsample oldest", Config: std.UpsampleConfig{HeightScale: 2, WidthScale: 3}, Version: 1, In: values(x(1, 2, 2, 3))},
	)...)
	for _, k := range []optest.Case{
		{Name: "mode", Config: std.ResizeConfig{Mode: "lanczos"}, In: values(x(2), nil, scales(2)), Refusal: "mode \"lanczos\" is unknown"},
		{Name: "neither", Config: std.ResizeConfig{}, In: values(x(2)), Refusal: "has neither scales nor sizes"},
		{Name: "scale", Config: std.ResizeConfig{}, In: values(x(2), nil, scales(-1)), Refusal: "scale -1 of axis 0 is not positive"},
		{Name: "count", Config: std.ResizeConfig{}, In: values(x(2), nil, scales(1, 2)), Refusal: "has 2 scales for 1 axes"},
		{Name: "huge", Config: std.ResizeConfig{}, In: values(x(2), nil, nil, optest.Ints(1<<40)), Refusal: "makes axis 0 1099511627776 long, at most 134217728 is possible"},
		{Name: "of nothing", Config: std.ResizeConfig{}, In: values(x(0), nil, nil, optest.Ints(3)), Refusal: "cannot make 3 elements of none on axis 0"},
	} {
		optest.Fails(t, k)
	}
}
