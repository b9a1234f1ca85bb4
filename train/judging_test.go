package train_test

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"gorgonia.org/tensor"
)

func floats32(v []float32, shape ...int) []*tensor.Dense {
	return []*tensor.Dense{tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))}
}

func classes64(v ...int64) []*tensor.Dense {
	return []*tensor.Dense{tensor.New(tensor.WithShape(len(v)), tensor.WithBacking(v))}
}

// TestCalibration checks ten samples in two bins: confidence 0.8 with accuracy one half, confidence
// 0.6 with accuracy three quarters.
func TestCalibration(t *testing.T) {
	var x []float32
	y := []int64{0, 1, 0, 1, 0, 1, 0, 0, 0, 1}
	for i := range 10 {
		p := float32(0.8)
		if i >= 6 {
			p = 0.6
		}
		x = append(x, p, 1-p)
	}
	m := &train.Calibration{Bins: 5}
	if err := m.Add(floats32(x, 10, 2), classes64(y...)); err != nil {
		t.Fatal(err)
	}
	want := 0.6*math.Abs(0.8-0.5) + 0.4*math.Abs(0.6-0.75)
	if got := m.Result()["ece"]; math.Abs(got-want) > 1e-6 {
		t.Errorf("ece %v, want %v", got, want)
	}
	total := 0
	for _, n := range m.Count {
		total += n
	}
	if total != 10 {
		t.Errorf("counts %v", m.Count)
	}
	isPNG(t, func(b *bytes.Buffer) error { return m.WritePNG(b) })
	m = &train.Calibration{} // fifteen bins: 0.8 is at the end of the twelfth, 0.6 at that of the ninth
	if err := m.Add(floats32(x, 10, 2), classes64(y...)); err != nil {
		t.Fatal(err)
	}
	if got := m.Result()["ece"]; math.Abs(got-want) > 1e-6 || len(m.Count) != 15 || m.Count[8]+m.Count[9] != 4 || m.Count[11]+m.Count[12] != 6 {
		t.Errorf("ece %v, want %v, counts %v", got, want, m.Count)
	}
	m = &train.Calibration{Bins: 2} // probabilities that rounding takes above 1 are in the last bin, 0.5 is in the first
	if err := m.Add(floats32([]float32{1.0005, 0, 0.5, 0.5}, 2, 2), classes64(0, 0)); err != nil {
		t.Fatal(err)
	}
	if m.Result(); !slices.Equal(m.Count, []int{1, 1}) || m.Right[1] != 1 || m.Sure[0] != 0.5 {
		t.Errorf("%+v", m)
	}
}

func isPNG(t *testing.T, write func(b *bytes.Buffer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	if img, err := png.Decode(&b); err != nil || img.Bounds().Dx() < 100 {
		t.Errorf("the image: %v", err)
	}
}

// The figures of each class, worked out by hand.
func TestPerClass(t *testing.T) {
	m := &train.Confusion{}
	// is 0: twice taken for 0, once for 1; is 1: once each for 0 and 1; 2 never occurs and is never said.
	x := []float32{9, 0, 0, 9, 0, 0, 0, 9, 0, 9, 0, 0, 0, 9, 0}
	if err := m.Add(floats32(x, 5, 3), classes64(0, 0, 0, 1, 1)); err != nil {
		t.Fatal(err)
	}
	m.Result()
	want := []train.ClassFigures{
		{Precision: 2.0 / 3, Recall: 2.0 / 3, F1: 2.0 / 3, Samples: 3, Said: 3}, {Precision: 0.5, Recall: 0.5, F1: 0.5, Samples: 2, Said: 2}, {},
	}
	if got := m.PerClass(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	isPNG(t, func(b *bytes.Buffer) error {
		return m.WritePNG(b, func(c int) string { return fmt.Sprint("class ", c) })
	})
	if err := (&train.Confusion{}).WritePNG(&bytes.Buffer{}, nil); err == nil {
		t.Error("an image of nothing")
	}
}

// TestSampleLosses checks losses per sample of scores, probabilities, single scores and regression.
func TestSampleLosses(t *testing.T) {
	for _, c := range []struct {
		m    train.SampleLosses
		x    []float32
		cols int
		y    *tensor.Dense
		want []float64
	}{
		{train.SampleLosses{}, []float32{0, 0, 4, 0}, 2, classes64(0, 1)[0], []float64{math.Log(2), math.Log(1 + math.Exp(4))}},
		{train.SampleLosses{}, []float32{0.25, 0.75, 0.5, 0.5}, 2, classes64(0, 1)[0], []float64{-math.Log(0.25), math.Log(2)}},
		{train.SampleLosses{Logits: true}, []float32{0, 2}, 1, classes64(1, 0)[0], []float64{math.Log(2), math.Log(1 + math.Exp(2))}},
		{train.SampleLosses{}, []float32{0.25, 0.75}, 1, classes64(1, 0)[0], []float64{-math.Log(0.25), -math.Log(0.25)}},
		{train.SampleLosses{Each: true, Logits: true}, []float32{0, 2, -3, 1}, 2, floats32([]float32{1, 0, 0, 0.25}, 2, 2)[0],
			[]float64{(math.Log(2) + math.Log(1+math.Exp(2))) / 2, (math.Log(1+math.Exp(-3)) + 0.25*math.Log(1+math.Exp(-1)) + 0.75*math.Log(1+math.Exp(1))) / 2}},
		{train.SampleLosses{Each: true}, []float32{0.25, 0.75, 0.5, 0.875}, 2, floats32([]float32{0, 1, 1, 0}, 2, 2)[0], []float64{-math.Log(0.75), (math.Log(2) + math.Log(8)) / 2}},
		{train.SampleLosses{}, []float32{1, 5}, 1, floats32([]float32{3, 5}, 2, 1)[0], []float64{4, 0}},
	} {
		m := c.m
		if err := m.Add(floats32(c.x, len(c.want), c.cols), []*tensor.Dense{c.y}); err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			if math.Abs(m.Loss[i]-want) > 1e-6 {
				t.Errorf("%v: loss %v, want %v", c.x, m.Loss, c.want)
			}
		}
	}
	labels := train.SampleLosses{Each: true, Logits: true}
	if err := labels.Add(floats32([]float32{0, 2, -3, 1, 4, -1}, 2, 3), floats32([]float32{1, 0, 0.5, 0, 0, 0}, 2, 3)); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(labels.Has, labels.Gets, labels.Said, labels.Is, labels.Sure, labels.Want); got != "[[0] []] [[1] [0 1]] [-1 -1] [-1 -1] [0 0] [0 0]" {
		t.Error(got)
	}
	if err := labels.Add(floats32([]float32{0, 2, 1, 3}, 1, 1, 2, 2), floats32([]float32{1, 0, 0, 1}, 1, 1, 2, 2)); err != nil || len(labels.Loss) != 3 || labels.Has[2] != nil || labels.Gets[2] != nil {
		t.Error(labels, err)
	}
	m := train.SampleLosses{Loss: []float64{1, math.NaN(), 3, 3, 0}}
	if got := m.Worst(3); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("worst %v", got)
	}
	if got := m.Worst(9); len(got) != 5 {
		t.Errorf("worst %v", got)
	}
}

// A student that is taught comes close to its teacher without a true class among its targets' reasons.
func TestTaught(t *testing.T) {
	teacher := small(t)
	if _, err := train.Fit(context.Background(), teacher, train.Config{Rule: optim.Adam{LR: 0.02}, Epochs: 8, Log: train.Quiet}, blobs(600, 1), nil); err != nil {
		t.Fatal(err)
	}
	set, err := train.Taught(blobs(300, 2), teacher, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := set.At(3, nil)
	if err != nil {
		t.Fatal(err)
	}
	one, err := dtype.View(s.X[0], 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	out, err := teacher.Run(context.Background(), one)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Y) != 2 || !slices.Equal(s.Y[1].Float32s(), dtype.Slice[float32](out[0])) {
		t.Errorf("targets %v, the teacher says %v", s.Y, out)
	}
	student := nn.New("student")
	if err := student.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(layers.Linear{Out: 3}, e.Input("x", "float32[N,4]")))
	}); err != nil {
		t.Fatal(err)
	}
	c := train.Config{Loss: train.Distill{Alpha: 1}, Metrics: []train.Metric{&train.Accuracy{}}, Rule: optim.Adam{LR: 0.05}, Epochs: 10, Log: train.Quiet}
	h, err := train.Fit(context.Background(), student, c, set, set)
	if err != nil || !(h.Last().Val["accuracy"] > 0.85) || !(h.Last().Val["loss"] < h[0].Val["loss"]) {
		t.Errorf("%v\n%v", err, h)
	}
	see := func([]*tensor.Dense) ([]*tensor.Dense, error) { return nil, fmt.Errorf("sees nothing") }
	blind, err := train.Taught(blobs(3, 2), teacher, see)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blind.At(0, nil); err == nil || err.Error() != "train: the teacher: sees nothing" {
		t.Errorf("a teacher that sees nothing: %v", err)
	}
	if _, err := train.Taught(blobs(3, 2), nn.New("empty"), nil); err == nil || !strings.Contains(err.Error(), "no output") {
		t.Errorf("a teacher without an output: %v", err)
	}
}
