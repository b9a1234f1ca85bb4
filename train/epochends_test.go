package train_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// The parameters of the best epoch come back when the epochs end, whoever ends them, and only where that is asked for; a graph that was
// edited after its last epoch stays as it is.
func TestWhichParametersStay(t *testing.T) {
	for name, c := range map[string]struct {
		restore bool
		ema     float64
		leave   int // breaks after this epoch
		edit    bool
		want    int // epoch
	}{
		"the last": {want: 3}, "the best": {restore: true, want: 1}, "averages": {restore: true, ema: 0.5, want: 1}, "the last averages": {ema: 0.5, want: 3},
		"left": {restore: true, leave: 2, want: 1}, "left without": {leave: 2, want: 2}, "left at once": {restore: true, leave: 1, want: 1}, "edited": {restore: true, edit: true, want: 3},
	} {
		g := small(t)
		tr, err := train.New(g, quiet(train.Config{Epochs: 3, MinDelta: 10, RestoreBest: c.restore, EMA: c.ema, Rule: optim.SGD{LR: 0.1}})) // the first is best
		if err != nil {
			t.Fatal(err)
		}
		var after map[string][]byte
		for ep, err := range tr.Epochs(context.Background(), blobs(64, 1), blobs(20, 2)) {
			if err != nil {
				t.Fatal(name, err)
			}
			if c.edit && ep.Epoch == 3 {
				if err := g.Edit(func(e *nn.Edit) { e.RemoveAtoms(e.Channels().Groups()[0].Atoms[:3]...) }); err != nil {
					t.Fatal(err)
				}
			}
			if ep.Epoch == c.want {
				after = weights(g)
			}
			if ep.Best != (ep.Epoch == 1) {
				t.Errorf("%s: epoch %d is best: %v", name, ep.Epoch, ep.Best)
			}
			if ep.Epoch == c.leave {
				break
			}
		}
		if !maps.EqualFunc(after, weights(g), slices.Equal[[]byte]) {
			t.Errorf("%s: the parameters are not those of epoch %d", name, c.want)
		}
	}
}

// torn fails at its last sample.
type torn struct{ data.Dataset[data.Sample] }

var errTorn = errors.New("the sample is torn")

func (s torn) At(i int, r *rand.Rand) (data.Sample, error) {
	if i == s.Len()-1 {
		return data.Sample{}, errTorn
	}
	return s.Dataset.At(i, r)
}

// A run that is cancelled, stopped or meets a sample that it cannot read leaves a checkpoint where it has a folder, and ends with that error alone.
func TestWhatAnInterruptedRunLeaves(t *testing.T) {
	stop := errors.New("stop")
	for name, c := range map[string]struct {
		fit   data.Dataset[data.Sample]
		by    string // OnStep, context, nothing
		where bool
		saved bool
		want  string
	}{
		"stopped": {blobs(20, 1), "OnStep", true, true, "stop"}, "cancelled": {blobs(20, 1), "context", true, true, "context canceled"}, "torn": {torn{blobs(20, 1)}, "", true, true, "sample 19: the sample is torn"},
		"stopped without a folder": {blobs(20, 1), "OnStep", false, false, "stop"}, "cancelled without a folder": {blobs(20, 1), "context", false, false, "context canceled"},
	} {
		t.Chdir(t.TempDir())
		ctx, cancel := context.WithCancel(context.Background())
		conf := quiet(train.Config{Batch: 4, NoShuffle: true, Workers: 1, Rule: optim.SGD{LR: 0.1}, OnStep: func(s train.StepInfo) error {
			switch {
			case s.Step == 3 && c.by == "OnStep":
				return stop
			case s.Step == 3 && c.by == "context":
				cancel()
			}
			return nil
		}})
		if c.where {
			conf.Dir = "run"
		}
		h, err := train.Fit(ctx, small(t), conf, c.fit, nil)
		cancel()
		if err == nil || !strings.HasSuffix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || len(h) != 0 {
			t.Errorf("%s: %v, %v", name, h, err)
		}
		if train.HasCheckpoint("run") != c.saved {
			t.Errorf("%s: a checkpoint: %v", name, !c.saved)
		}
		if files, err := filepath.Glob("*"); err != nil || len(files) > 0 && !(len(files) == 1 && files[0] == "run" && c.where) {
			t.Errorf("%s: files %v, %v", name, files, err)
		}
		if files, err := os.ReadDir("run"); c.where && (err != nil || !c.saved && len(files) > 0) {
			t.Errorf("%s: files %v, %v", name, files, err)
		}
	}
}

// drawn are samples of which chance draws the number.
type drawn struct {
	n   int
	mu  sync.Mutex
	got []float32
}

func (s *drawn) Len() int { return s.n }

func (s *drawn) At(i int, r *rand.Rand) (data.Sample, error) {
	x := float32(0)
	if r != nil {
		x = float32(r.Float64())
	}
	s.mu.Lock()
	s.got = append(s.got, x)
	s.mu.Unlock()
	v, err := dtype.FromSlice([]float32{x}, 1)
	return data.Sample{X: []*tensor.Dense{v}, Y: []*tensor.Dense{v}}, err
}

// TestDraws checks that the random numbers of a sample depend on the seed, the epoch and the sample;
// evaluations use those of the first epoch.
func TestDraws(t *testing.T) {
	identity := func() *nn.Graph {
		g := nn.New("scaled")
		if err := g.Edit(func(e *nn.Edit) {
			e.Output("y", e.Node(op.Plain("Mul"), e.Input("x", "float32[N,1]"), e.Param("w", initial.Ones{}, 1)).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		return g
	}
	const n = 3
	want := func(seed uint64, epochs ...int) (list []float32) {
		for _, e := range epochs {
			for i := range n {
				list = append(list, float32(data.Rand(seed, e, i).Float64()))
			}
		}
		return list
	}
	ctx := context.Background()
	c := quiet(train.Config{Seed: 5, Epochs: 2, Workers: 1, NoShuffle: true, Metrics: []train.Metric{}})
	for name, x := range map[string]struct {
		run  func(s data.Dataset[data.Sample]) error
		want []float32
	}{
		"Evaluate": {func(s data.Dataset[data.Sample]) error { _, err := train.Evaluate(ctx, identity(), s); return err }, want(0, 0)},
		"Trainer.Evaluate": {func(s data.Dataset[data.Sample]) error {
			tr, err := train.New(identity(), c)
			if err == nil {
				_, err = tr.Evaluate(ctx, s)
			}
			return err
		}, want(5, 0)},
		"Gradients": {func(s data.Dataset[data.Sample]) error {
			tr, err := train.New(identity(), c)
			if err != nil {
				return err
			}
			for _, err := range tr.Gradients(ctx, s) {
				return err
			}
			return nil
		}, want(5, 0)},
		"Fit": {func(s data.Dataset[data.Sample]) error { _, err := train.Fit(ctx, identity(), c, s, s); return err }, want(5, 0, 0, 1, 0)},
	} {
		s := &drawn{n: n}
		if err := x.run(s); err != nil {
			t.Fatal(name, err)
		}
		if name == "Evaluate" { // its loader works beside it
			slices.Sort(s.got)
			slices.Sort(x.want)
		}
		if !slices.Equal(s.got, x.want) {
			t.Errorf("%s: drew %v, want %v", name, s.got, x.want)
		}
	}
}

// A second run of epochs counts its schedule from the beginning, and its epochs on.
func TestSecondRun(t *testing.T) {
	asked := map[string]bool{}
	c := quiet(train.Config{Rule: optim.SGD{LR: 0.01}, Schedule: halving{asked}, Epochs: 2, Batch: 2, Metrics: []train.Metric{}})
	tr, err := train.New(proportional(t), c)
	if err != nil {
		t.Fatal(err)
	}
	set := lines(t, []float64{1, 2, 3}, []float64{1, 2, 3})
	for run := range 2 {
		clear(asked)
		h, err := tr.Fit(context.Background(), set, nil)
		if err != nil || len(h) != 2+2*run {
			t.Fatal(h, err)
		}
		if !maps.Equal(asked, map[string]bool{"0/4": true, "1/4": true, "2/4": true, "3/4": true}) {
			t.Errorf("run %d: the schedule was asked for %v", run, asked)
		}
		for i, e := range h {
			if e.Epoch != i+1 || e.Steps != 2*(i+1) || e.Rate != []float64{0.5, 0.125}[i%2] {
				t.Errorf("run %d: %+v", run, e)
			}
		}
	}
}

// The losses of a rate finder are smoothed: each counts 0.7 of the one after it.
func TestSmoothedLosses(t *testing.T) {
	losses := []float64{9, 1} // of w = 0.5 for inputs of 1
	set := lines(t, []float64{1, 1}, []float64{3.5, 1.5})
	c, err := train.RateFinder{Min: 1e-12, Max: 1e-11, Steps: 6, Config: train.Config{Batch: 1, NoShuffle: true}}.FindRate(context.Background(), proportional(t), set)
	if err != nil || len(c.Loss) != 6 {
		t.Fatal(c, err)
	}
	for n, got := range c.Loss {
		sum, weights := 0.0, 0.0
		for i := range n + 1 {
			w := math.Pow(0.7, float64(n-i))
			sum, weights = sum+w*losses[i%2], weights+w
		}
		if math.Abs(got-sum/weights) > 1e-6 {
			t.Errorf("loss %d is %v, want %v", n, got, sum/weights)
		}
	}
}

// A figure that the validation does not have is an error of all ranks.
func TestMonitorOnRanks(t *testing.T) {
	for rank, err := range together(2, func(rank int, comm train.Communicator) error {
		_, err := train.Fit(context.Background(), plainNet(t), quiet(train.Config{Communicator: comm, Monitor: "precision", Metrics: []train.Metric{}}), blobs(8, 1), blobs(4, 2))
		return err
	}) {
		if err == nil || err.Error() != `train: Monitor is "precision", the validation has [loss]` {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}
