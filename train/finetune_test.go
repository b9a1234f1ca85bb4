package train_test

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

// barsNet takes the images of shapes; where the tail has a ReLU, scores below zero would all be the same.
func barsNet(t *testing.T, classes int, tail nn.Sequential) *nn.Graph {
	t.Helper()
	g := nn.New("bars")
	err := g.Edit(func(e *nn.Edit) {
		body := nn.Sequential{
			layers.Conv{Out: 8, Kernel: []int{3}, Same: true, NoBias: true}, layers.BatchNorm{}, layers.ReLU{}, layers.MaxPool{Kernel: []int{2}},
			layers.Conv{Out: 16, Kernel: []int{3}, Same: true, NoBias: true}, layers.BatchNorm{}, layers.ReLU{},
		}
		if tail == nil {
			tail = nn.Sequential{layers.GlobalAvgPool{}, layers.Flatten{}, layers.Linear{Out: classes}}
		}
		e.Output("scores", e.Apply(append(body, tail...), e.Input("image", "float32[N,1,12,12]")))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestFineTune checks that a model trained on three kinds of bars transfers to two of them: first a new
// classifier is fitted, then all layers are trained, and the validation loss is no worse than after the first
// part. The same seed gives the same model.
func TestFineTune(t *testing.T) {
	ctx := context.Background()
	g := barsNet(t, 3, nil)
	if _, err := train.Fit(ctx, g, quiet(train.Config{Epochs: 4, Seed: 1}), shapes(900, 1), nil); err != nil {
		t.Fatal(err)
	}
	fit, val := shapes(60, 5), shapes(300, 6)
	run := func() (train.Outcome, *nn.Graph) {
		c := nntest.Clone(t, g)
		out, err := train.FineTuner{Head: &nn.Head{Classes: 3}, Config: quiet(train.Config{Seed: 3, Epochs: 8})}.FineTune(ctx, c, fit, val)
		if err != nil {
			t.Fatal(err)
		}
		return out, c
	}
	out, one := run()
	if out.Folds < 0.6 || out.Head["accuracy"] < 0.6 || out.Val["accuracy"] < out.Head["accuracy"] || !strings.Contains(out.Policy, "one cycle of 8 epochs") {
		t.Errorf("%+v", out)
	}
	_, two := run()
	for p := range one.Params() {
		v, err := two.Value(p.Name())
		if err != nil || p.Data() != nil && !bytes.Equal(dtype.Bytes(p.Data()), dtype.Bytes(v.Param().Data())) {
			t.Errorf("%s differs between two runs (%v)", p.Name(), err)
		}
	}
	scratch := barsNet(t, 3, nil)
	all, err := train.FineTuner{Policy: train.FromScratch, Config: quiet(train.Config{Seed: 3, Epochs: 10})}.FineTune(ctx, scratch, shapes(600, 7), val)
	if err != nil || all.Val["accuracy"] < 0.9 || all.Head["accuracy"] > 0.6 {
		t.Errorf("from scratch %+v, %v", all, err)
	}
}

// A classifier is fitted to features whatever follows it: as they are, above a ReLU, or where nothing is linear.
func TestFineTuneHeadOnly(t *testing.T) {
	ctx := context.Background()
	conv := layers.Conv{Out: 3, Kernel: []int{1}, Name: "top"}
	for name, tail := range map[string]nn.Sequential{
		"linear":  nil,
		"relu":    {conv, layers.ReLU{}, layers.GlobalAvgPool{}, layers.Flatten{}, layers.Softmax{}},
		"flatten": {layers.MaxPool{Kernel: []int{3}}, layers.Flatten{}, layers.Linear{Out: 3, Name: "top"}, layers.LogSoftmax{}},
		"sigmoid": {conv, layers.GlobalMaxPool{}, layers.Flatten{}, layers.Tanh{}},
	} {
		g := barsNet(t, 3, tail)
		if _, err := train.Fit(ctx, g, quiet(train.Config{Epochs: 4, Seed: 1}), shapes(900, 1), nil); err != nil {
			t.Fatal(err)
		}
		before := map[string][]byte{}
		for p := range g.Params() {
			if p.Data() != nil {
				before[p.Name()] = bytes.Clone(dtype.Bytes(p.Data()))
			}
		}
		out, err := train.FineTuner{Policy: train.HeadOnly, Head: &nn.Head{Classes: 3}, Config: quiet(train.Config{Seed: 3})}.FineTune(ctx, g, shapes(300, 5), shapes(300, 6))
		if err != nil || out.Val["accuracy"] < 0.7 || len(out.History) != 0 {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
		changed := 0
		for p := range g.Params() {
			if b, ok := before[p.Name()]; ok && p.Data() != nil && !bytes.Equal(b, dtype.Bytes(p.Data())) {
				changed++
			}
		}
		if changed != 2 {
			t.Errorf("%s: %d parameters changed, want weight and bias of the classifier", name, changed)
		}
	}
}

func TestFineTuneRefusals(t *testing.T) {
	ctx := context.Background()
	g := barsNet(t, 2, nil)
	for want, f := range map[string]train.FineTuner{
		`train: the policy is "best": want head-only, full, from-scratch or none`:               {Policy: "best"},
		"train: sample 0 is of class 2, the model has scores for 2 classes":                     {},
		"train: Epochs is -1: want 0 or more":                                                   {Policy: train.FromScratch, Config: train.Config{Epochs: -1}},
		"train: the policy head-only is for classifiers with one class for each sample: freeze": {Policy: train.HeadOnly},
	} {
		set := data.Subset(shapes(40, 4), firstOf(shapes(40, 4), 2))
		if f.Policy == train.HeadOnly {
			set = data.Map(set, func(s data.Sample, _ *rand.Rand) (data.Sample, error) { s.Y = s.X; return s, nil })
		}
		f.Config.Log = train.Quiet
		if _, err := f.FineTune(ctx, g, set, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v\nwant  %s", err, want)
		}
	}
	if _, err := train.FineTune(ctx, g, nil, nil); err == nil || err.Error() != "train: there are no samples to train on" {
		t.Errorf("nothing to train on: %v", err)
	}
}

// firstOf puts a sample of a class first.
func firstOf(s data.Dataset[data.Sample], class int64) []int {
	var list []int
	for i := range s.Len() {
		x, _ := s.At(i, nil)
		if x.Y[0].Int64s()[0] == class {
			list = append([]int{i}, list...)
		} else {
			list = append(list, i)
		}
	}
	return list
}

// A rate is suggested at which training works, and the model is as before.
func TestFindRate(t *testing.T) {
	ctx := context.Background()
	g := barsNet(t, 3, nil)
	before := nntest.Clone(t, g)
	c, err := train.RateFinder{Config: quiet(train.Config{Seed: 1, Batch: 16})}.FindRate(ctx, g, shapes(300, 1))
	if err != nil {
		t.Fatal(err)
	}
	if !(c.Suggestion > 1e-4 && c.Suggestion < 0.3) || len(c.Rate) != len(c.Loss) || c.Rate[0] < 0.9e-7 || c.Rate[0] > 1.1e-7 {
		t.Errorf("%+v", c)
	}
	for p := range g.Params() {
		v, err := before.Value(p.Name())
		if err != nil || p.Data() != nil && !bytes.Equal(dtype.Bytes(p.Data()), dtype.Bytes(v.Param().Data())) {
			t.Errorf("%s is not what it was (%v)", p.Name(), err)
		}
	}
	var b bytes.Buffer
	if err := c.WritePNG(&b); err != nil {
		t.Fatal(err)
	}
	if img, err := png.Decode(&b); err != nil || img.Bounds().Dx() < 300 {
		t.Errorf("the image is %v", err)
	}
	if _, err := (train.RateFinder{Min: 1, Max: 0.1}).FindRate(ctx, g, shapes(30, 1)); err == nil || !strings.Contains(err.Error(), "want rising rates above 0") {
		t.Errorf("falling rates: %v", err)
	}
}

// Mixed training samples, whose targets are shares of the classes, are fine-tuned with a validation by classes, or by shares; the reverse is refused.
func TestFineTuneMixed(t *testing.T) {
	plain, mix := blobs(40, 2), data.MixUp{Classes: 3}
	for _, c := range []struct {
		fit, val data.Dataset[data.Sample]
		want     string
	}{
		{mix.Of(blobs(64, 1)), plain, "<nil>"},
		{mix.Of(blobs(64, 1)), mix.Of(plain), "<nil>"},
		{blobs(64, 1), mix.Of(plain), "train: samples to train on have one class each, those for validation have not: mix classes (data.MixUp) of the samples to train on alone, or of both"},
	} {
		if _, err := (train.FineTuner{Config: train.Config{Epochs: 1, Log: train.Quiet}}).FineTune(context.Background(), small(t), c.fit, c.val); fmt.Sprint(err) != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
