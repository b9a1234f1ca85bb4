package train_test

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// TestNothingCounts checks that batches in which every target is ignored change nothing.
func TestNothingCounts(t *testing.T) {
	b := batch(t, blobs(8, 1))
	y := dtype.New(dtype.Int64, 8)
	for i := range 8 {
		dtype.Slice[int64](y)[i] = -100
	}
	for name, c := range map[string]train.Config{"streamed": {}, "whole": {Whole: true}, "clipped": {ClipNorm: 1}, "accumulated": {Accumulate: 2}, "in parts": {Batch: 8, MicroBatch: 4}} {
		g := small(t)
		c.Rule = optim.SGD{LR: 0.1}
		tr, err := train.New(g, quiet(c))
		if err != nil {
			t.Fatal(err)
		}
		before := weights(g)
		for range max(1, c.Accumulate) {
			info, err := tr.Step(context.Background(), data.Sample{X: b.X, Y: []*tensor.Dense{y}})
			if err != nil || info.Loss != 0 || info.Norm != 0 {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
		same(t, name, before, weights(g))
		for range max(1, c.Accumulate) {
			if info, err := tr.Step(context.Background(), b); err != nil || info.Loss == 0 {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
	}
}

func TestAccumulateIsOneBatch(t *testing.T) {
	// Without a normalization, whose statistics are those of the small batches.
	model := func() *nn.Graph {
		g := small(t)
		if err := g.Edit(func(e *nn.Edit) { e.Remove(e.Find(nn.Ops("BatchNormalization"))) }); err != nil {
			t.Fatal(err)
		}
		return g
	}
	fit := blobs(96, 1)
	config := train.Config{Epochs: 2, Batch: 48, ClipNorm: 0.5, Rule: optim.SGD{LR: 0.1, Momentum: 0.9}, Loss: train.CrossEntropy{ClassWeights: []float64{1, 2, 3}}}
	whole, parts := model(), model()
	if _, err := train.Fit(context.Background(), whole, quiet(config), fit, nil); err != nil {
		t.Fatal(err)
	}
	config.Batch, config.Accumulate = 12, 4
	h, err := train.Fit(context.Background(), parts, quiet(config), fit, nil)
	if err != nil {
		t.Fatal(err)
	}
	if h.Last().Steps != 4 {
		t.Errorf("%d steps, want 4", h.Last().Steps)
	}
	for p := range whole.Params() {
		x, _ := dtype.Float64s(p.Data())
		if d := distance(t, param(t, parts, p.Name()).Data(), x); d > 1e-5 {
			t.Errorf("%s is off by %g", p.Name(), d)
		}
	}
}

func TestNaNStops(t *testing.T) {
	for _, k := range []int{1, 2} {
		g := small(t)
		tr, err := train.New(g, train.Config{Accumulate: k})
		if err != nil {
			t.Fatal(err)
		}
		good, bad := batch(t, blobs(8, 1)), batch(t, blobs(8, 2))
		dtype.Slice[float32](bad.X[0])[3] = float32(math.NaN())
		for range 2 * k {
			if _, err := tr.Step(context.Background(), good); err != nil {
				t.Fatal(err)
			}
		}
		before := weights(g)
		if k > 1 {
			if _, err := tr.Step(context.Background(), good); err != nil {
				t.Fatal(err)
			}
		}
		_, err = tr.Step(context.Background(), bad)
		if err == nil || !strings.Contains(err.Error(), "step 3: the loss is NaN") {
			t.Fatalf("error %v", err)
		}
		same(t, "after NaN", before, weights(g))
		if info, err := tr.Step(context.Background(), good); err != nil || info.Updated != (k == 1) {
			t.Errorf("the next step: %+v, %v", info, err)
		}
	}
}

// TestEditsBetweenSteps checks that the trainer follows edits between steps.
func TestEditsBetweenSteps(t *testing.T) {
	g := small(t)
	tr, err := train.New(g, train.Config{EMA: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	b := batch(t, blobs(32, 1))
	step := func() {
		t.Helper()
		if _, err := tr.Step(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if err := g.Edit(func(e *nn.Edit) { e.Insert(e.Value("relu"), layers.BatchNorm{}) }); err != nil {
		t.Fatal(err)
	}
	step()
	var scale *nn.Param
	for p := range g.Params() {
		if p.Name() != "scale" && p.Role() == nn.Weight && len(p.Data().Shape()) == 1 && p.Data().Shape()[0] == 8 && p.Name() != "bias" {
			scale = p
			break
		}
	}
	x, _ := dtype.Float64s(scale.Data())
	if x[0] == math.Sqrt(1+1e-5) || x[0] == 1 {
		t.Errorf("%s was not trained", scale.Name())
	}
	if err := g.Edit(func(e *nn.Edit) { e.Freeze(nn.Before(e.Find(nn.Glob("w2")))) }); err != nil {
		t.Fatal(err)
	}
	before := weights(g)
	step()
	if after := weights(g); !bytes.Equal(before["w1"], after["w1"]) || bytes.Equal(before["w2"], after["w2"]) {
		t.Error("freezing between steps")
	}
	if err := g.Edit(func(e *nn.Edit) { e.SetFrozen(e.Value("w1").Param(), false) }); err != nil {
		t.Fatal(err)
	}
	step()
	if bytes.Equal(before["w1"], weights(g)["w1"]) {
		t.Error("w1 is not frozen any more and did not change")
	}
}

// A model that fixes its batch takes whole batches of that size.
func TestFixedBatch(t *testing.T) {
	g := nn.New("fixed")
	err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(layers.Linear{Out: 3}, e.Input("x", "float32[8,4]")))
	})
	if err != nil {
		t.Fatal(err)
	}
	var notes string
	c := train.Config{Log: func(e train.Event) { notes += e.Text }}
	h, err := train.Fit(context.Background(), g, c, blobs(30, 1), blobs(20, 2))
	if err != nil || h.Last().Samples != 24 || h.Last().Steps != 3 {
		t.Errorf("%v, %v", h, err)
	}
	if want := "the last 4 samples of 20 were not validated"; !strings.Contains(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	c.Batch = 16
	if _, err := train.Fit(context.Background(), g, c, blobs(30, 1), nil); err == nil || !strings.Contains(err.Error(), "the model fixes the batch to 8, Batch is 16: free it with Edit.Input or Loader.Inputs") {
		t.Errorf("batch 16: %v", err)
	}
	if _, err := train.Evaluate(context.Background(), g, blobs(20, 2)); err == nil || !strings.Contains(err.Error(), "which 20 samples do not divide into") {
		t.Errorf("evaluate: %v", err)
	}
}
