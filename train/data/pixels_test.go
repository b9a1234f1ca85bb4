package data_test

import (
	"math"
	"slices"
	"testing"

	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

func dense(v any, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
}

// A tensor of an image is prepared as the image would be.
func TestPreprocessTensor(t *testing.T) {
	rgb := dense([]float32{0, 1, 0.2, 0.4, 0.6, 0.8}, 3, 1, 2)
	cases := []struct {
		name string
		p    data.Preprocess
		x    *tensor.Dense
		want []float32
	}{
		{"as it is", data.Preprocess{}, rgb, []float32{0, 1, 0.2, 0.4, 0.6, 0.8}},
		{"blue first, 255", data.Preprocess{BGR: true, Range: 255}, rgb, []float32{153, 204, 51, 102, 0, 255}},
		{"mean by colour, blue first", data.Preprocess{BGR: true, Mean: []float64{1, 2, 3}, Std: []float64{1, 2, 4}}, rgb, []float32{-0.6, -0.55, -0.9, -0.8, -1, 0}},
		{"channels last", data.Preprocess{NHWC: true}, rgb, []float32{0, 0.2, 0.6, 1, 0.4, 0.8}},
		{"gray", data.Preprocess{Gray: true}, rgb, []float32{0.587*0.2 + 0.114*0.6, 0.299 + 0.587*0.4 + 0.114*0.8}},
		{"gray to colour", data.Preprocess{Range: 2}, dense([]float32{0.25, 0.5}, 1, 1, 2), []float32{0.5, 1, 0.5, 1, 0.5, 1}},
	}
	for _, c := range cases {
		c.p.Size, c.p.Width = 1, 2
		got, err := c.p.Tensor(c.x)
		if err != nil || !slices.EqualFunc(got.Float32s(), c.want, func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-6 }) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	wide, err := data.Preprocess{Size: 4, Crop: 1, Gray: true}.Tensor(dense(slices.Repeat([]float32{0.4}, 36), 1, 6, 6))
	if err != nil || wide.Shape()[1] != 4 || math.Abs(float64(wide.Float32s()[5])-0.4) > 1e-6 {
		t.Errorf("another size: %v, %v", wide, err)
	}
	if _, err := (data.Preprocess{}).Tensor(dense([]float32{1, 2}, 2, 1, 1)); err == nil || err.Error() != "data: float32 of shape (2, 1, 1), want an image: float32 [1 or 3, height, width]" {
		t.Errorf("two channels: %v", err)
	}
}

// TestImages checks that arrays of images are converted to channels first from any layout.
func TestImages(t *testing.T) {
	y := dense([]int32{7}, 1)
	for name, c := range map[string]struct{ shape, want []int }{
		"gray": {[]int{1, 2, 3}, []int{1, 2, 3}}, "first": {[]int{1, 3, 1, 2}, []int{3, 1, 2}}, "last": {[]int{1, 2, 1, 3}, []int{3, 2, 1}},
	} {
		s, err := data.Images(dense([]uint8{0, 51, 102, 153, 204, 255}, c.shape...), y)
		if err != nil {
			t.Fatal(err)
		}
		x, err := s.At(0, nil)
		if err != nil || !slices.Equal(x.X[0].Shape(), c.want) || x.Y[0].Int64s()[0] != 7 {
			t.Errorf("%s: %v, %v", name, x, err)
		}
		want := []float32{0, 0.2, 0.4, 0.6, 0.8, 1}
		if name == "last" {
			want = []float32{0, 0.6, 0.2, 0.8, 0.4, 1}
		}
		if got := x.X[0].Float32s(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if _, err := data.Images(dense([]uint8{1, 2}, 1, 2), y); err == nil {
		t.Error("a list of numbers is taken for images")
	}
}
