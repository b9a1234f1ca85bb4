package data_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// squares returns a set of two images, 0 everywhere of class 0 and 1 of class 2.
func squares(shape ...int) data.Dataset[data.Sample] {
	return data.Map(numbers(2), func(i int, _ *rand.Rand) (data.Sample, error) {
		n := 1
		for _, d := range shape {
			n *= d
		}
		x := make([]float32, n)
		for k := range x {
			x[k] = float32(i)
		}
		return data.Sample{
			X: []*tensor.Dense{tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x))},
			Y: []*tensor.Dense{tensor.New(tensor.FromScalar(int64(2 * i)))},
		}, nil
	})
}

// TestMixUp: the share of the other image in the pixels is its share in the
// target, shares are spread as Beta(α, α), and the source is left alone.
func TestMixUp(t *testing.T) {
	for _, m := range []data.MixUp{{Classes: 3}, {Classes: 3, Alpha: 2}, {Classes: 3, CutMix: true}} {
		s := m.Of(squares(2, 8, 10))
		var sum, square float64
		n := 0
		for i := range 4000 {
			v, err := s.At(0, data.Rand(1, 0, i))
			if err != nil {
				t.Fatal(err)
			}
			y, mean := v.Y[0].Float32s(), 0.0
			for _, x := range v.X[0].Float32s() {
				mean += float64(x) / 160
			}
			if math.Abs(mean-float64(y[2])) > 1e-5 || math.Abs(float64(y[0]+y[1]+y[2])-1) > 1e-6 || y[1] != 0 {
				t.Fatalf("%+v: share %v of the other image, target %v", m, mean, y)
			}
			if y[2] > 0 || !m.CutMix {
				sum, square, n = sum+float64(y[0]), square+float64(y[0])*float64(y[0]), n+1
			}
		}
		if m.CutMix {
			continue // rectangles that stick out change the spread
		}
		// Half of the partners are the sample itself: y[0] is 1 then, else Beta.
		a := m.Alpha
		if a == 0 {
			a = 0.2
		}
		moment := (a + 1) / (2 * (2*a + 1)) // E[λ²]
		if got, want := sum/float64(n), 0.75; math.Abs(got-want) > 0.03 {
			t.Errorf("%+v: mean share %v, want %v", m, got, want)
		}
		if got, want := square/float64(n), 0.5+moment/2; math.Abs(got-want) > 0.03 {
			t.Errorf("%+v: mean square share %v, want %v", m, got, want)
		}
	}
	v, err := data.MixUp{Classes: 3}.Of(squares(4)).At(1, nil)
	if err != nil || !slices.Equal(v.X[0].Float32s(), []float32{1, 1, 1, 1}) || !slices.Equal(v.Y[0].Float32s(), []float32{0, 0, 1}) {
		t.Errorf("without chance: %v, error %v", v, err)
	}
	for want, s := range map[string]data.Dataset[data.Sample]{
		"sample 1 is of class 2, want 0 to 1":                   data.MixUp{Classes: 2}.Of(squares(4)),
		"has shape (4), want [channels, height, width]":         data.MixUp{Classes: 3, CutMix: true}.Of(squares(4)),
		"sample 1 is not one float32 input and one int64 class": data.MixUp{Classes: 3}.Of(data.Of(data.Sample{}, data.Sample{})),
	} {
		if _, err := s.At(1, data.Rand(0, 0, 0)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestMixUpSettings: settings that give no distribution are errors; an infinite Alpha was drawn from without an end.
func TestMixUpSettings(t *testing.T) {
	for want, m := range map[string]data.MixUp{
		"Classes is -7": {Classes: -7}, "Alpha is -0.5": {Classes: 3, Alpha: -0.5}, "Alpha is NaN": {Classes: 3, Alpha: math.NaN()}, "Alpha is +Inf": {Classes: 3, Alpha: math.Inf(1)},
	} {
		for _, err := range (data.BatchLoader{}).Batches(context.Background(), m.Of(noisy(3)), 0) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			}
		}
	}
}
