package train_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"gorgonia.org/tensor"
)

// A schedule over a share of the run follows Config.Steps in a loop of one's own, as it follows the epochs' steps, and
// is refused without it; others need no total.
func TestStepsOfOwnLoop(t *testing.T) {
	b := batch(t, blobs(8, 1))
	for name, s := range map[string]optim.Schedule{"linear": optim.LinearLR{From: 1}, "cosine": optim.CosineLR{}, "warmup": optim.Warmup{Steps: 2, Then: optim.LinearLR{From: 1}}, "step": optim.StepLR{}} {
		tr, err := train.New(small(t), train.Config{Rule: optim.SGD{LR: 0.1}, Schedule: s, Steps: 6})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 6 {
			info, err := tr.Step(context.Background(), b)
			if want := s.At(n, 6); err != nil || math.Abs(info.Rate-want) > 1e-12 {
				t.Errorf("%s, step %d: rate %v, want %v; %v", name, n, info.Rate, want, err)
			}
		}
	}
	for s, refused := range map[optim.Schedule]bool{optim.LinearLR{From: 1}: true, optim.CosineLR{}: true, optim.StepLR{}: true, optim.Warmup{Steps: 2, Then: optim.LinearLR{From: 1}}: true, optim.Warmup{Steps: 2}: false, optim.ConstantLR{}: false, optim.StepLR{Every: 3}: false, optim.ExponentialLR{}: false} {
		tr, err := train.New(small(t), train.Config{Schedule: s})
		if err != nil {
			t.Fatal(err)
		}
		_, err = tr.Step(context.Background(), b)
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "set Config.Steps to the number of updates") {
			t.Errorf("%T: %v", s, err)
		}
	}
	if _, err := train.New(small(t), train.Config{Steps: -1}); err == nil || !strings.Contains(err.Error(), "Steps is -1") {
		t.Error(err)
	}
}

// A loop of one's own goes on from a checkpoint to the bit: weights, optimizer, averages, schedule.
func TestSaveAndRestore(t *testing.T) {
	c := train.Config{EMA: 0.9, Schedule: optim.CosineLR{}, Steps: 8, Seed: 5}
	path := filepath.Join(t.TempDir(), "state")
	steps := func(tr *train.Trainer, from, to int) {
		t.Helper()
		for k := from; k < to; k++ {
			if _, err := tr.Step(context.Background(), batch(t, blobs(16, uint64(k)))); err != nil {
				t.Fatal(err)
			}
		}
	}
	tr, err := train.New(small(t), c)
	if err != nil {
		t.Fatal(err)
	}
	steps(tr, 0, 4)
	tr.Average() // the graph holds the averages meanwhile
	if err := tr.Save(path); err != nil {
		t.Fatal(err)
	}
	steps(tr, 4, 8)
	want := everything(t, tr)
	other, err := train.New(small(t), c)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time back from the end
		if err := other.Restore(path); err != nil {
			t.Fatal(err)
		}
		steps(other, 4, 8)
		same(t, "restored", want, everything(t, other))
	}
	if err := other.Restore(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := other.Restore(path); err == nil || !strings.Contains(err.Error(), "is not a state file: 5 bytes") {
		t.Error(err)
	}
	same(t, "after refusals", want, everything(t, other))
	c.Accumulate = 2
	if tr, err = train.New(small(t), c); err != nil {
		t.Fatal(err)
	}
	steps(tr, 0, 1)
	if err := tr.Save(path); err == nil || !strings.Contains(err.Error(), "while the batches of one update are being accumulated") {
		t.Error(err)
	}
}

// TestOnGradient checks that OnGradient sees mean gradients before the update and may change them, and
// that an error of it leaves all state unchanged.
func TestOnGradient(t *testing.T) {
	enough := errors.New("enough")
	for _, k := range []int{1, 2} {
		var seen []string
		stop := false
		c := train.Config{Rule: optim.SGD{LR: 1}, Accumulate: k, OnGradient: func(p *nn.Param, g *tensor.Dense) error {
			seen = append(seen, p.Name())
			if stop && p.Name() == "w2" {
				return enough
			}
			if p.Name() != "b2" {
				clear(dtype.Slice[float32](g))
			}
			return nil
		}}
		g := small(t)
		tr, err := train.New(g, c)
		if err != nil {
			t.Fatal(err)
		}
		b := batch(t, blobs(8, 1))
		step := func() (info train.StepInfo, err error) {
			for range k {
				if info, err = tr.Step(context.Background(), b); err != nil {
					return info, err
				}
			}
			return info, nil
		}
		before := weights(g)
		info, err := step()
		if err != nil || !info.Updated || strings.Join(seen, " ") != "w1 scale bias w2 b2" {
			t.Fatalf("%+v, %v, saw %q", info, err, seen)
		}
		after := weights(g)
		if string(before["b2"]) == string(after["b2"]) || string(before["w1"]) != string(after["w1"]) {
			t.Error("the update did not use the changed gradients")
		}
		stop, before = true, everything(t, tr)
		if info, err = step(); !errors.Is(err, enough) || err.Error() != "train: parameter w2: step 2: enough" || info.Updated {
			t.Errorf("%+v, %v", info, err)
		}
		same(t, "stopped", before, everything(t, tr))
	}
}

// An error of OnStep ends a run behind an update; with a folder the run goes on from there to the same end.
func TestOnStepStops(t *testing.T) {
	fit, enough := blobs(64, 1), errors.New("enough")
	c := quiet(train.Config{Epochs: 2, Batch: 8, Seed: 2})
	straight := small(t)
	if _, err := train.Fit(context.Background(), straight, c, fit, nil); err != nil {
		t.Fatal(err)
	}
	g := small(t)
	c.Dir, c.Resume = t.TempDir(), true
	var steps []int
	c.OnStep = func(s train.StepInfo) error {
		if steps = append(steps, s.Step); s.Step == 5 {
			return enough
		}
		return nil
	}
	if _, err := train.Fit(context.Background(), g, c, fit, nil); !errors.Is(err, enough) || len(steps) != 5 {
		t.Fatalf("%v after steps %v", err, steps)
	}
	c.OnStep = nil
	g = small(t)
	if _, err := train.Fit(context.Background(), g, c, fit, nil); err != nil {
		t.Fatal(err)
	}
	same(t, "resumed", weights(straight), weights(g))
}
