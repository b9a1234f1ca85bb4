package train_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// TestRefusedStepInAnEpoch: a batch whose step is refused in the middle of an epoch ends a run, which is resumed at that batch and ends with the weights of an
// undisturbed run.
func TestRefusedStepInAnEpoch(t *testing.T) {
	fit := blobs(40, 1)
	for _, k := range []int{0, 2} {
		var want map[string][]byte
		for _, fault := range []string{"", "a class that the model lacks", "a number that is not finite", "another number of targets"} {
			c := train.Config{Epochs: 2, Batch: 8, Seed: 3, Rule: optim.SGD{LR: 0.1, Momentum: 0.9}, Dir: t.TempDir(), Accumulate: k}
			var reads atomic.Int32 // of the sample at position 28 of the second epoch
			set := data.Map(data.Of(upTo(40)...), func(i int, r *rand.Rand) (data.Sample, error) {
				s, err := fit.At(i, r)
				if fault == "" || i != data.Order(40, c.Seed, 1)[28] || reads.Add(1) != 2 {
					return s, err
				}
				switch fault {
				case "a class that the model lacks":
					s.Y = []*tensor.Dense{dtype.Scalar(int64(7))}
				case "a number that is not finite":
					x := dtype.New(dtype.Float32, 4)
					dtype.Slice[float32](x)[1] = float32(math.Inf(1))
					s.X = []*tensor.Dense{x}
				default:
					s.Y = nil
				}
				return s, nil
			})
			if fault != "" {
				if _, err := train.Fit(context.Background(), small(t), quiet(c), set, nil); err == nil {
					t.Fatalf("%s is no error", fault)
				}
				c.Resume = true
			}
			g := small(t)
			var steps []int
			c.OnStep = func(s train.StepInfo) error { steps = append(steps, s.Step); return nil }
			if _, err := train.Fit(context.Background(), g, quiet(c), set, nil); err != nil {
				t.Fatalf("%s: %v", fault, err)
			}
			if fault == "" {
				want = weights(g)
				continue
			}
			if rest := map[int][]int{0: {9, 10}, 2: {5, 6}}[k]; !slices.Equal(steps, rest) {
				t.Errorf("%s: the resumed run has the steps %v, want %v", fault, steps, rest)
			}
			same(t, fault, want, weights(g))
		}
	}
}

// TestKeepInterrupted: an interruption before the first update of an epoch does not let the last one's model count twice among those that are kept.
func TestKeepInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := train.Config{Epochs: 3, Batch: 8, Dir: t.TempDir(), Keep: 2, Rule: optim.SGD{LR: 0.05}}
	tr, err := train.New(small(t), quiet(c))
	if err != nil {
		t.Fatal(err)
	}
	for ep, err := range tr.Epochs(ctx, blobs(32, 1), blobs(16, 2)) {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if ep.Epoch == 2 {
			cancel()
		}
	}
	list, err := filepath.Glob(filepath.Join(c.Dir, "epoch-*.onnx"))
	if err != nil || len(list) != 2 {
		t.Errorf("kept are %v; %v", list, err)
	}
}

// TestResumeOther: a checkpoint is refused by a model that lacks some of its parameters, and in the middle of an epoch by a set of another length; between epochs a
// note says that the length is another.
func TestResumeOther(t *testing.T) {
	for _, stop := range []int{3, 4} { // of four steps in an epoch
		c := train.Config{Epochs: 2, Batch: 8, Dir: t.TempDir(), Rule: optim.SGD{LR: 0.05}, Resume: true}
		c.OnStep = func(s train.StepInfo) error {
			if s.Step == stop {
				return os.ErrClosed
			}
			return nil
		}
		if _, err := train.Fit(context.Background(), small(t), quiet(c), blobs(32, 1), nil); !errors.Is(err, os.ErrClosed) {
			t.Fatal(err)
		}
		c.OnStep = nil
		less := small(t)
		if err := less.Edit(func(e *nn.Edit) { e.Remove(e.Find(nn.Ops("BatchNormalization"))) }); err != nil {
			t.Fatal(err)
		}
		before := weights(less)
		if _, err := train.New(less, quiet(c)); err == nil || !strings.Contains(err.Error(), "last.state has param/bias, which the graph has not: the checkpoint is of another model") {
			t.Error(err)
		}
		same(t, "refused", before, weights(less))
		_, err := train.Fit(context.Background(), small(t), quiet(c), blobs(24, 1), nil)
		if want := fmt.Sprintf("an epoch of 32 samples ended in its middle, at batch %d: it cannot go on with 24 samples", stop); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	c := train.Config{Epochs: 1, Batch: 8, Dir: t.TempDir(), Rule: optim.SGD{LR: 0.05}}
	if _, err := train.Fit(context.Background(), small(t), quiet(c), blobs(32, 1), nil); err != nil {
		t.Fatal(err)
	}
	var notes []string
	c.Epochs, c.Resume, c.Log = 2, true, noted(&notes)
	if _, err := train.Fit(context.Background(), small(t), c, blobs(24, 1), nil); err != nil || !slices.Contains(notes, "the training set has 24 samples, 32 before") {
		t.Errorf("%v, notes %q", err, notes)
	}
}

// noted collects the texts of notes.
func noted(list *[]string) func(train.Event) {
	return func(e train.Event) {
		if e.Kind == train.Note {
			*list = append(*list, e.Text)
		}
	}
}

// TestLossOfFirstBatch: without Config.Loss the first batch decides whether numbers are distributions over classes. Later ones cannot change the loss unnoticed.
func TestLossOfFirstBatch(t *testing.T) {
	of := func(v ...float32) data.Sample {
		x, y := dtype.New(dtype.Float32, len(v)/3, 4), dtype.New(dtype.Float32, len(v)/3, 3)
		copy(dtype.Slice[float32](y), v)
		return data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{y}}
	}
	step := func(tr *train.Trainer, s data.Sample) (float64, error) {
		info, err := tr.Step(context.Background(), s)
		return info.Loss, err
	}
	tr, err := train.New(plainNet(t), quiet(train.Config{Rule: optim.SGD{LR: 1e-30}}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := step(tr, of(0, 1, 0, 0.5, 0, 0.5)); err != nil {
		t.Fatal(err)
	}
	const want = "target 0 of each sample was a distribution over classes in the first batch, whence cross-entropy, and is not in this one: set Config.Loss"
	if _, err := step(tr, of(0, 1, 1)); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	if tr, err = train.New(plainNet(t), quiet(train.Config{Rule: optim.SGD{LR: 1e-30}})); err != nil {
		t.Fatal(err)
	}
	if _, err := step(tr, of(0, 1, 1)); err != nil {
		t.Fatal(err)
	}
	if err := tr.Graph().Edit(func(e *nn.Edit) { e.SetDoc("edited") }); err != nil { // the loss is attached again
		t.Fatal(err)
	}
	if loss, err := step(tr, of(0, 1, 0)); err != nil || math.Abs(loss-1./3) > 1e-6 { // all outputs are 0
		t.Errorf("loss %v, want the mean squared error 1/3; %v", loss, err)
	}
}

// TestWrongProbabilities: a loss of scores for a model that ends in probabilities of another kind says so, once, and targets of BCE outside 0 … 1 are refused.
func TestWrongProbabilities(t *testing.T) {
	ends := func(l nn.Layer) *nn.Graph {
		g := nn.New("ends")
		if err := g.Edit(func(e *nn.Edit) {
			e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 3}, l}, e.Input("x", "float32[N,4]")))
		}); err != nil {
			t.Fatal(err)
		}
		return g
	}
	fit := blobs(16, 1)
	tags := data.Map(fit, func(s data.Sample, _ *rand.Rand) (data.Sample, error) {
		return data.Sample{X: s.X, Y: []*tensor.Dense{dtype.New(dtype.Float32, 3)}}, nil
	})
	for _, c := range []struct {
		last nn.Layer
		loss train.Loss
		fit  data.Dataset[data.Sample]
		note string
	}{
		{layers.Sigmoid{}, nil, fit, `cross-entropy: output "y" ends in Sigmoid sigmoid1: its results, which are probabilities already, are taken for scores; is this the loss for the targets?`},
		{layers.Softmax{}, train.BCEWithLogits{}, tags, `BCE: output "y" ends in Softmax softmax1: its results, which are probabilities already, are taken for scores; is this the loss for the targets?`},
		{layers.Softmax{}, nil, data.MixUp{Classes: 3}.Of(fit), `cross-entropy: output "y" ends in Softmax softmax1: the loss is computed from its input, the logits`},
	} {
		var notes []string
		if _, err := train.Fit(context.Background(), ends(c.last), train.Config{Loss: c.loss, Epochs: 3, Batch: 8, Log: noted(&notes)}, c.fit, fit); c.loss == nil && err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(notes, []string{c.note}) {
			t.Errorf("notes %q, want %q", notes, c.note)
		}
	}
	for _, want := range []string{"", "BCE: target 2 of the batch is -1: want 0 to 1"} {
		tr, err := train.New(ends(layers.Sigmoid{}), quiet(train.Config{Loss: train.BCEWithLogits{}}))
		if err != nil {
			t.Fatal(err)
		}
		b := data.Sample{X: []*tensor.Dense{dtype.New(dtype.Float32, 1, 4)}, Y: []*tensor.Dense{dtype.New(dtype.Float32, 1, 3)}}
		if want != "" {
			dtype.Slice[float32](b.Y[0])[2] = -1
		}
		if _, err := tr.Step(context.Background(), b); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
