package train

import (
	"context"
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train/data"
)

// TestToward checks that weights are interpolated between two states, and that other element types are those of the end.
func TestToward(t *testing.T) {
	g := layered(t)
	start := nntest.Weights(t, g)
	end := snapshot.Weights{}
	for p, d := range start {
		end[p] = dtype.Clone(d)
		for i := range end[p].Float32s() {
			end[p].Float32s()[i] += 2
		}
	}
	for _, c := range []float64{0, 0.25, 1} {
		toward(start, end, c)
		for p, d := range start {
			for i, x := range p.Data().Float32s() {
				if math.Abs(float64(x-d.Float32s()[i])-2*c) > 1e-6 {
					t.Fatalf("c %v: %s is %v, begins as %v", c, p.Name(), x, d.Float32s()[i])
				}
			}
		}
	}
}

// TestShare checks that the fraction of training's change that does best on held-out samples is kept,
// one half if none is clearly better, and all for plans that train all layers alike or their
// statistics.
func TestShare(t *testing.T) {
	g := layered(t)
	held := points(t, 90)
	tune := &tuning{FineTuner: FineTuner{Config: Config{Log: Quiet}}, g: g, fit: held}
	start := nntest.Weights(t, g)
	gentle := recipe{Spread: 0.1, HoldStatistics: true}
	choose := func(p recipe) float64 {
		c, got, err := tune.interpolate(context.Background(), start, held, p)
		if err != nil || len(got.answers) != held.Len() {
			t.Fatalf("%d answers, %v", len(got.answers), err)
		}
		return c
	}
	if s := choose(gentle); s != 0.5 {
		t.Errorf("nothing was trained: %v", s)
	}
	if _, err := Fit(context.Background(), g, Config{Epochs: 20, Log: Quiet}, held, nil); err != nil {
		t.Fatal(err)
	}
	if s := choose(gentle); s < 0.75 {
		t.Errorf("trained on what is held out: %v", s)
	}
	for _, p := range []recipe{{Spread: 1, HoldStatistics: true}, {Spread: 0.1}} {
		if s := choose(p); s != 0 {
			t.Errorf("%+v: %v", p, s)
		}
	}
}

// TestEvaluateCalibrated checks that evaluateCalibrated has the figures of evaluate, except that the default loss is calibrated, so lower.
func TestEvaluateCalibrated(t *testing.T) {
	held := points(t, 40)
	for _, loss := range []Loss{nil, CrossEntropy{LabelSmoothing: 0.3}} {
		tune := &tuning{FineTuner: FineTuner{Config: Config{Log: Quiet, Loss: loss}}, g: layered(t), fit: held}
		quick, err := tune.evaluateCalibrated(context.Background(), held)
		if err != nil {
			t.Fatal(err)
		}
		slow, err := tune.evaluate(context.Background(), held)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(quick.figures["accuracy"]-slow.figures["accuracy"]) > 1e-5 {
			t.Errorf("accuracy %v, want %v", quick.figures["accuracy"], slow.figures["accuracy"])
		}
		if d := slow.figures["loss"] - quick.figures["loss"]; d < -1e-5 || (loss != nil && d > 1e-5) || quick.figures["loss"] <= 0 {
			t.Errorf("loss %v, want at most %v", quick.figures["loss"], slow.figures["loss"])
		}
		if quick.samples != slow.samples || len(quick.answers) != len(slow.answers) {
			t.Errorf("%d samples, %d answers", quick.samples, len(quick.answers))
		}
	}
	tune := &tuning{g: layered(t), fit: held}
	if v, err := tune.evaluateCalibrated(context.Background(), data.Subset(held, nil)); err != nil || len(v.answers) != 0 {
		t.Errorf("of nothing: %+v, %v", v, err)
	}
}

// TestShareIsKept checks that the plan's fraction of the change is applied to all layers, also in a resumed run.
func TestShareIsKept(t *testing.T) {
	change := func(c float64, dir string, resume bool) (list []float64) {
		g := layered(t)
		start := nntest.Weights(t, g)
		config := Config{Log: Quiet, Seed: 3, Rule: optim.SGD{LR: 0.05}, Dir: dir, Resume: resume}
		tune := &tuning{FineTuner: FineTuner{Config: config}, g: g, fit: points(t, 30), plan: recipe{Epochs: 2, Batch: 16, EMA: 0.5, Spread: 0.1, HoldStatistics: true, Interpolation: c}, say: func(string) {}}
		if !resume {
			if err := tune.keepPlan(); err != nil {
				t.Fatal(err)
			}
		}
		if err := tune.allLayers(context.Background()); err != nil || !tune.out.AllKept {
			t.Fatal(err)
		}
		for p := range g.Params() {
			if d := start[p]; d != nil {
				for i, x := range p.Data().Float32s() {
					list = append(list, float64(x-d.Float32s()[i]))
				}
			}
		}
		return list
	}
	dir := t.TempDir()
	whole, most := change(1, "", false), 0.0
	for what, part := range map[string][]float64{"a part": change(0.25, dir, false), "of a run that went on": change(0.25, dir, true)} {
		for i, x := range whole {
			most = max(most, math.Abs(x))
			if math.Abs(part[i]-x/4) > 1e-6 {
				t.Fatalf("%s: number %d changes by %v, as a whole by %v", what, i, part[i], x)
			}
		}
	}
	if most < 1e-3 {
		t.Errorf("the largest change is %v", most)
	}
}
