package train_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

// A run that is cancelled in the middle of an epoch and resumed ends with the bytes of one that
// was not.
func TestResumeIsExact(t *testing.T) {
	fit, val := blobs(150, 1), blobs(40, 2)
	config := train.Config{
		Epochs: 4, Batch: 16, Accumulate: 2, Seed: 3, EMA: 0.9, Rule: optim.Adam{LR: 0.02}, Schedule: optim.CosineLR{},
		ClipNorm: 1, Keep: 2, Monitor: "accuracy", Plateau: &optim.Plateau{Patience: 1},
	}
	whole := small(t)
	config.Dir = t.TempDir()
	want, err := train.Fit(context.Background(), whole, quiet(config), fit, val)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"last.onnx", "last.state", "best.onnx", "history.csv", "curves.png"} {
		if _, err := os.Stat(filepath.Join(config.Dir, name)); err != nil {
			t.Error(err)
		}
	}
	if kept, _ := filepath.Glob(filepath.Join(config.Dir, "epoch-*.onnx")); len(kept) != 2 {
		t.Errorf("kept %v, want 2 models", kept)
	}
	config.Dir, config.Resume = t.TempDir(), true
	g := small(t)
	for _, stop := range []int{3, 8, 9, 14, 1 << 30} {
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		config.Log = func(e train.Event) {
			if e.Kind == train.Stepped {
				if n++; n == stop {
					cancel()
				}
			}
		}
		g = small(t)
		tr, err := train.New(g, config)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tr.Fit(ctx, fit, val)
		cancel()
		if stop < 1<<30 {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("stopped at %d: %v", stop, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%d epochs, want %d", len(got), len(want))
		}
		for i := range got {
			a, b := got[i], want[i]
			a.Seconds, b.Seconds = 0, 0
			if x, y := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b); x != y {
				t.Errorf("resumed: %s\n  whole: %s", x, y)
			}
		}
	}
	same(t, "resumed", weights(whole), weights(g))
	h, err := train.Fit(context.Background(), g, quiet(config), fit, val)
	if err != nil || len(h) != 4 {
		t.Errorf("a run that is complete goes on: %d epochs, %v", len(h), err)
	}
}

// The best epoch's parameters come back in a resumed run, too, when that epoch is before the resume.
func TestResumeRestoresBest(t *testing.T) {
	fit, val := blobs(150, 1), blobs(40, 2)
	config := train.Config{Epochs: 3, Batch: 16, EMA: 0.9, Rule: optim.Adam{LR: 0.02}, MinDelta: 10, RestoreBest: true} // the first is best
	whole := small(t)
	if _, err := train.Fit(context.Background(), whole, quiet(config), fit, val); err != nil {
		t.Fatal(err)
	}
	config.Dir, config.Resume = t.TempDir(), true
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	config.Log = func(e train.Event) {
		if e.Kind == train.Stepped && e.Epoch == 2 {
			cancel()
		}
	}
	if _, err := train.Fit(ctx, small(t), config, fit, val); !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped: %v", err)
	}
	g := small(t)
	h, err := train.Fit(context.Background(), g, quiet(config), fit, val)
	if err != nil {
		t.Fatal(err)
	}
	if len(h) != 3 || h.Best().Epoch != 1 {
		t.Errorf("epochs %v: want three, the first the best", h)
	}
	same(t, "resumed", weights(whole), weights(g))
	if err := os.Remove(filepath.Join(config.Dir, "best.onnx")); err != nil {
		t.Fatal(err)
	}
	if _, err := train.New(small(t), config); err == nil || !strings.Contains(err.Error(), "restore the model of the best epoch") {
		t.Errorf("without the best model: %v", err)
	}
}

// A checkpoint of something else is refused, and nothing has changed.
func TestResumeRefuses(t *testing.T) {
	c := train.Config{Dir: t.TempDir(), Rule: optim.SGD{Momentum: 0.9}}
	if _, err := train.Fit(context.Background(), small(t), quiet(c), blobs(64, 1), nil); err != nil {
		t.Fatal(err)
	}
	c.Resume = true
	other := c
	other.Rule = optim.Adam{}
	head := small(t)
	if err := head.Edit(func(e *nn.Edit) { e.SetData(e.Value("w1"), dtype.New(dtype.Float64, 8, 4)) }); err == nil {
		t.Fatal("a weight of another type is no error")
	}
	wide := nn.New("wide")
	if err := wide.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		e.Output("y", e.Node(std.GemmConfig{TransB: true}, x, e.Param("w1", initial.FanIn{}, 3, 4)).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		g    *nn.Graph
		c    train.Config
		want string
	}{
		{small(t), other, "is of another optimizer"},
		{wide, c, "want float32[3,4], got float32[8,4]: param/w1 in "},
	} {
		before := weights(x.g)
		if _, err := train.New(x.g, x.c); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("error %v, want %s", err, x.want)
		}
		same(t, "refused", before, weights(x.g))
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "last.state"), []byte("rubbish, more than eight bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := train.New(small(t), c); err == nil || !strings.Contains(err.Error(), "is not a state file") {
		t.Errorf("rubbish: %v", err)
	}
}

// TestResumeOtherOptimizer: the state of one optimizer is not taken for that of another.
func TestResumeOtherOptimizer(t *testing.T) {
	fit, val := blobs(40, 1), blobs(20, 2)
	config := quiet(train.Config{Epochs: 1, Rule: optim.Adam{}, Dir: t.TempDir()})
	if _, err := train.Fit(context.Background(), small(t), config, fit, val); err != nil {
		t.Fatal(err)
	}
	for _, rule := range []optim.Rule{optim.AdamW{}, optim.SGD{}} {
		config.Rule, config.Resume, config.Epochs = rule, true, 2
		if _, err := train.Fit(context.Background(), small(t), config, fit, val); err == nil || !strings.Contains(err.Error(), "is of another optimizer") {
			t.Errorf("%T: %v", rule, err)
		}
	}
}

// TestMixUpLoss: without a Loss, blended classes are trained by cross-entropy.
func TestMixUpLoss(t *testing.T) {
	mixed := data.MixUp{Classes: 3}.Of(blobs(60, 1))
	batch, err := data.Collate([]data.Sample{at(t, mixed, 0), at(t, mixed, 1)})
	if err != nil {
		t.Fatal(err)
	}
	losses := make([]float64, 2)
	for i, loss := range []train.Loss{nil, train.CrossEntropy{}} {
		tr, err := train.New(small(t), quiet(train.Config{Loss: loss}))
		if err != nil {
			t.Fatal(err)
		}
		info, err := tr.Step(context.Background(), batch)
		if err != nil {
			t.Fatal(err)
		}
		losses[i] = info.Loss
	}
	if losses[0] != losses[1] {
		t.Errorf("the loss is %v, cross-entropy %v", losses[0], losses[1])
	}
}

func at(t *testing.T, s data.Dataset[data.Sample], i int) data.Sample {
	t.Helper()
	x, err := s.At(i, rand.New(rand.NewPCG(1, uint64(i))))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// A checkpoint in the middle of an epoch is for the same batches in the same order, one at its end for any.
func TestResumeInAnEpoch(t *testing.T) {
	fit := blobs(40, 1)
	for _, x := range []struct {
		after      int // steps
		batch      int
		seed       uint64
		accumulate int
		micro      int
		ok         bool
	}{{2, 8, 3, 1, 0, true}, {2, 16, 3, 1, 0, false}, {2, 8, 4, 1, 0, false}, {2, 8, 3, 1, 4, true}, {5, 16, 4, 1, 0, true}} {
		c := train.Config{Epochs: 2, Batch: 8, Seed: 3, Rule: optim.SGD{LR: 0.1}, Dir: t.TempDir()}
		enough := errors.New("enough")
		c.OnStep = func(s train.StepInfo) error {
			if s.Step == x.after {
				return enough
			}
			return nil
		}
		tr, err := train.New(plainNet(t), quiet(c))
		if err != nil {
			t.Fatal(err)
		}
		if x.after == 5 { // the end of an epoch
			c.OnStep, tr = nil, nil
			c.Epochs = 1
			if _, err := train.Fit(context.Background(), plainNet(t), quiet(c), fit, nil); err != nil {
				t.Fatal(err)
			}
			c.Epochs = 2
		} else if _, err := tr.Fit(context.Background(), fit, nil); !errors.Is(err, enough) {
			t.Fatal(err)
		}
		c.OnStep, c.Resume, c.Batch, c.Seed, c.MicroBatch = nil, true, x.batch, x.seed, x.micro
		h, err := train.Fit(context.Background(), plainNet(t), quiet(c), fit, nil)
		if (err == nil) != x.ok {
			t.Errorf("%+v: %v", x, err)
		}
		if want := fmt.Sprintf("was written in the middle of an epoch with batches of 8 and seed 3: the configuration has %d and %d", x.batch, x.seed); err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err == nil && h[0].Samples != 40 {
			t.Errorf("%+v: %d samples in the epoch", x, h[0].Samples)
		}
	}
}

// TestUnreadableInAnEpoch: a sample that cannot be read, because another process has removed its file for example, ends a run, which is resumed at the batch
// of the sample and ends with the weights of an undisturbed run.
func TestUnreadableInAnEpoch(t *testing.T) {
	fit := blobs(40, 1)
	var weights []string
	for _, workers := range []int{1, 2} {
		for _, disturbed := range []bool{false, true} {
			c := train.Config{Epochs: 2, Batch: 8, Workers: workers, Seed: 3, Rule: optim.SGD{LR: 0.1, Momentum: 0.9}, Dir: t.TempDir()}
			var reads atomic.Int32 // of the sample at position 20 of the second epoch
			set := data.Map(data.Of(upTo(40)...), func(i int, r *rand.Rand) (data.Sample, error) {
				if i == data.Order(40, c.Seed, 1)[20] && reads.Add(1) == 2 && disturbed {
					return data.Sample{}, fs.ErrNotExist
				}
				return fit.At(i, r)
			})
			if disturbed {
				if _, err := train.Fit(context.Background(), plainNet(t), quiet(c), set, nil); !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				c.Resume = true
			}
			g := plainNet(t)
			var steps []int
			c.OnStep = func(s train.StepInfo) error { steps = append(steps, s.Step); return nil }
			if _, err := train.Fit(context.Background(), g, quiet(c), set, nil); err != nil {
				t.Fatal(err)
			}
			if want := []int{8, 9, 10}; disturbed && !slices.Equal(steps, want) {
				t.Errorf("the resumed run has the steps %v, want %v", steps, want)
			}
			var b strings.Builder
			for p := range g.Params() {
				fmt.Fprintln(&b, p.Name(), p.Data().Data())
			}
			weights = append(weights, b.String())
		}
	}
	for _, w := range weights {
		if w != weights[0] {
			t.Errorf("the weights are\n%s, want\n%s", w, weights[0])
		}
	}
}

// TestUnreadableValidation: a sample of the validation data that cannot be read, or a set that panics, ends a run, which is resumed with the validation and ends as an
// undisturbed one.
func TestUnreadableValidation(t *testing.T) {
	fit := blobs(40, 1)
	var histories []train.History
	for _, fault := range []string{"", "error", "panic"} {
		var reads atomic.Int32
		val := data.Map(data.Of(upTo(8)...), func(i int, r *rand.Rand) (data.Sample, error) {
			if i == 5 && reads.Add(1) == 2 && fault != "" { // in the second epoch
				if fault == "panic" {
					panic("gone")
				}
				return data.Sample{}, fs.ErrNotExist
			}
			return fit.At(i, r)
		})
		c := train.Config{Epochs: 3, Batch: 8, Seed: 3, Rule: optim.SGD{LR: 0.1, Momentum: 0.9}, Dir: t.TempDir()}
		if fault != "" {
			if _, err := train.Fit(context.Background(), plainNet(t), quiet(c), fit, val); err == nil {
				t.Fatal("the sample was read")
			}
			c.Resume = true
		}
		var steps []int
		c.OnStep = func(s train.StepInfo) error { steps = append(steps, s.Step); return nil }
		h, err := train.Fit(context.Background(), plainNet(t), quiet(c), fit, val)
		if err != nil {
			t.Fatal(err)
		}
		if want := []int{11, 12, 13, 14, 15}; fault != "" && !slices.Equal(steps, want) {
			t.Errorf("%s: the resumed run has the steps %v, want %v", fault, steps, want)
		}
		for i := range h {
			h[i].Seconds = 0
		}
		histories = append(histories, h)
	}
	for _, h := range histories {
		if !reflect.DeepEqual(h, histories[0]) {
			t.Errorf("the history is\n%v, want\n%v", h, histories[0])
		}
	}
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// TestProgressOfAnEpoch checks the progress of a resumed epoch: its position, the mean loss so far,
// and the speed of the samples computed in this run.
func TestProgressOfAnEpoch(t *testing.T) {
	fit := blobs(40, 1)
	c := train.Config{Epochs: 2, Batch: 8, Seed: 3, Rule: optim.SGD{LR: 0.1}, Dir: t.TempDir()}
	for _, resumed := range []bool{false, true} {
		start := time.Now()
		var epoch, told time.Time // after it has begun, and the last event
		var events []train.Event
		c.Resume = resumed
		c.Sampler = func(n, _ int) []int {
			epoch = time.Now()
			return data.Order(n, 1, 0)
		}
		sum, samples := 0.0, 0
		c.OnStep = func(s train.StepInfo) error {
			if !resumed && s.Step == 2 {
				return errors.New("enough")
			}
			return nil
		}
		c.Log = func(e train.Event) {
			if e.Kind == train.Finished {
				sum, samples = 0, 0
			}
			if e.Kind != train.Stepped {
				return
			}
			events = append(events, e)
			sum += e.Info.Loss * float64(e.Info.Samples)
			samples += e.Info.Samples
			least, most := told.Sub(epoch).Seconds(), time.Since(start).Seconds() // told before this batch
			told = time.Now()
			if first := e.Epoch == 1 && resumed; !first && math.Abs(e.Loss-sum/float64(samples)) > 1e-9 {
				t.Errorf("batch %d: mean loss %v, want %v", e.Batch, e.Loss, sum/float64(samples))
			}
			if e.Speed < float64(samples)/most || e.Speed > float64(samples)/max(least, 1e-9) {
				t.Errorf("batch %d: %v samples per second, %d in %v to %v s", e.Batch, e.Speed, samples, least, most)
			}
			done := float64(samples) / 8
			if left := e.Left.Seconds(); e.Count != 5 || left > most/done*float64(5-e.Batch) || e.Batch < 5 && left <= 0 || e.Batch == 5 && left != 0 {
				t.Errorf("batch %d of %d: %v s left after %v to %v s", e.Batch, e.Count, left, least, most)
			}
		}
		_, err := train.Fit(context.Background(), plainNet(t), c, fit, nil)
		if resumed != (err == nil) {
			t.Fatal(err)
		}
		want := 1 // the second step ends the run before it is told
		if resumed {
			want = 3 + 5
		}
		if len(events) != want || events[0].Epochs != 2 || resumed && (events[0].Batch != 3 || events[3].Batch != 1 || events[3].Epoch != 2) {
			t.Errorf("resumed %v: %d events, want %d", resumed, len(events), want)
		}
	}
}
