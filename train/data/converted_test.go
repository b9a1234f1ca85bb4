package data_test

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/train/data"
)

// An image prepared in one way and converted is the image prepared in the other.
func TestConverted(t *testing.T) {
	x := dense([]float32{0, 1, 0.2, 0.4, 0.6, 0.8}, 3, 1, 2)
	for _, nhwc := range []bool{false, true} {
		for _, bgr := range []bool{false, true} {
			a, b := data.ImageNet, data.Caffe
			for _, p := range []*data.Preprocess{&a, &b} {
				p.Size, p.Width, p.BGR, p.NHWC = 1, 2, bgr, nhwc
			}
			convert, err := data.Converted(a, b)
			if err != nil {
				t.Fatal(err)
			}
			from, err := a.Tensor(x)
			if err != nil {
				t.Fatal(err)
			}
			want, err := b.Tensor(x)
			if err != nil {
				t.Fatal(err)
			}
			got, err := convert(from)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range got.Float32s() {
				if w := want.Float32s()[i]; math.Abs(float64(v-w)) > 1e-3 {
					t.Errorf("channels last %v, blue first %v: %v, want %v", nhwc, bgr, got.Float32s(), want.Float32s())
					break
				}
			}
			if _, err := convert(dense([]float32{1}, 1)); err == nil {
				t.Error("another shape is taken")
			}
		}
	}
	if _, err := data.Converted(data.ImageNet, data.Caffe); err == nil {
		t.Error("other channels are taken")
	}
}
