package train

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// identity returns a model of one input of the given type.
func identity(t *testing.T, typ string) *nn.Graph {
	t.Helper()
	g := nn.New("identity")
	if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Node(op.Plain("Identity"), e.Input("x", typ)).Out(0)) }); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestLoaderOfModel checks batch sizes: the configured one, or the one fixed by the model, times the
// ranks, in micro-batches.
func TestLoaderOfModel(t *testing.T) {
	for _, c := range []struct {
		fixed int // 0: free
		ranks int
		c     Config
		want  string // batch, unit, last batches that are not full left out
		err   string
	}{
		{0, 0, Config{}, "32 0 false", ""}, {0, 0, Config{Batch: 7}, "7 0 false", ""}, {0, 4, Config{Batch: 4}, "4 0 false", ""}, {0, 4, Config{Batch: 3}, "", "train: a batch of 3 samples for 4 ranks: want one for each at least"},
		{5, 0, Config{}, "5 5 true", ""}, {5, 0, Config{Batch: 5}, "5 5 true", ""}, {5, 0, Config{Batch: 10}, "", "train: input x: the model fixes the batch to 5, Batch is 10: free it with Edit.Input or Loader.Inputs"},
		{5, 0, Config{Batch: 4}, "", "train: input x: the model fixes the batch to 5, Batch is 4: free it with Edit.Input or Loader.Inputs"},
		{5, 3, Config{}, "15 5 true", ""}, {5, 3, Config{Batch: 15}, "15 5 true", ""},
		{5, 3, Config{Batch: 5}, "", "train: input x: the model fixes the batch of each of 3 ranks to 5, Batch is 5: want 15, or free it with Edit.Input or Loader.Inputs"},
		{5, 0, Config{MicroBatch: 5}, "5 5 true", ""}, {5, 0, Config{MicroBatch: 5, Batch: 20}, "20 5 true", ""}, {5, 3, Config{MicroBatch: 5}, "15 5 true", ""}, {5, 3, Config{MicroBatch: 5, Batch: 30}, "30 5 true", ""},
		{5, 0, Config{MicroBatch: 4}, "", "train: input x: the model fixes the batch to 5, MicroBatch is 4: want 5, or free it with Edit.Input or Loader.Inputs"},
		{5, 0, Config{MicroBatch: 5, Batch: 12}, "", "train: input x: Batch is 12, MicroBatch 5 on 1 processes: want a multiple of 5"},
		{5, 3, Config{MicroBatch: 5, Batch: 20}, "", "train: input x: Batch is 20, MicroBatch 5 on 3 processes: want a multiple of 15"},
	} {
		typ := "float32[N,2]"
		if c.fixed > 0 {
			typ = fmt.Sprintf("float32[%d,2]", c.fixed)
		}
		c.c.Seed, c.c.Workers = 3, 2
		tr := &Trainer{g: identity(t, typ), c: c.c}
		if c.ranks > 0 {
			tr.ranks = &ranks{rank: 1, size: c.ranks}
		}
		l, err := tr.loader()
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("fixed to %d, %d ranks, %d in parts of %d: %v, want %s", c.fixed, c.ranks, c.c.Batch, c.c.MicroBatch, err, c.err)
			}
			continue
		}
		if got := fmt.Sprint(l.Batch, l.Unit, l.DropLast); err != nil || got != c.want {
			t.Errorf("fixed to %d, %d ranks, %d in parts of %d: %s, want %s, %v", c.fixed, c.ranks, c.c.Batch, c.c.MicroBatch, got, c.want, err)
		}
		if !l.Shuffle || l.Seed != 3 || l.Workers != 2 || l.Ranks != c.ranks || l.Rank != min(1, c.ranks) {
			t.Errorf("%+v", l)
		}
	}
	if l, err := (&Trainer{g: identity(t, "float32[N]"), c: Config{NoShuffle: true}}).loader(); err != nil || l.Shuffle {
		t.Errorf("%+v, %v", l, err)
	}
	if _, n, err := (&Trainer{g: identity(t, "float32[4,1]")}).batches(data.Of(make([]data.Sample, 9)...)); n != 2 || err != nil {
		t.Errorf("%d batches, %v", n, err)
	}
	if _, _, err := (&Trainer{g: identity(t, "float32[4,1]")}).batches(data.Of(make([]data.Sample, 3)...)); err == nil || err.Error() != "train: 3 samples do not fill a batch of 4, which the model fixes" {
		t.Error(err)
	}
	if _, _, err := (&Trainer{g: identity(t, "float32[4,1]")}).batches(data.Of[data.Sample]()); err == nil || !strings.Contains(err.Error(), "no samples to train on") {
		t.Error(err)
	}
}

// The batch that a model fixes is the first size of its first input.
func TestFixedBatch(t *testing.T) {
	for typ, want := range map[string]int{"float32[7,2]": 7, "float32[7]": 7, "float32[N,7]": 0, "float32[?,7]": 0, "float32[]": 0, "float32[1]": 1} {
		if n, ok := fixedBatch(identity(t, typ)); ok != (want > 0) || ok && n != want {
			t.Errorf("%s: %d, %v", typ, n, ok)
		}
	}
	if _, ok := fixedBatch(nn.New("none")); ok {
		t.Error("a model without inputs fixes a batch")
	}
}

// TestPace checks the speed of an epoch, and its estimated remaining time.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		elapsed                   time.Duration
		samples, batches, further int
		speed                     float64
		left                      time.Duration
	}{{2 * time.Second, 64, 4, 6, 32, 3 * time.Second}, {time.Second, 8, 1, 0, 8, 0}, {time.Minute, 30, 3, 3, 0.5, time.Minute}, {0, 5, 1, 2, 5e9, 0}} {
		if speed, left := pace(c.elapsed, c.samples, c.batches, c.further); speed != c.speed || left != c.left {
			t.Errorf("%+v: %v samples per second, %v left", c, speed, left)
		}
	}
}

// weighing weighs batches as it is told.
type weighing struct {
	Loss
	weight float64
}

func (w weighing) Weight([]*tensor.Dense) (float64, error) { return w.weight, nil }

// The mean loss of an epoch is over what counts: batches by their weights, sums as one each.
func TestTally(t *testing.T) {
	for i, c := range []struct {
		weights, losses []float64
		sums            bool
		want            tally
		mean            float64
	}{
		{nil, nil, false, tally{}, 0}, {[]float64{2, 3}, []float64{1, 6}, false, tally{Loss: 20, Weight: 5, Samples: 8}, 4}, {[]float64{-1, -1}, []float64{1, 6}, true, tally{Loss: 7, Weight: 2, Samples: 8}, 3.5},
		{[]float64{2, 0}, []float64{1, math.NaN()}, false, tally{Loss: 2, Weight: 2, Samples: 8}, 1}, {[]float64{0}, []float64{math.NaN()}, false, tally{Samples: 4}, 0}, {[]float64{0.5}, []float64{4}, false, tally{Loss: 2, Weight: 0.5, Samples: 4}, 4},
	} {
		var s, all tally
		for k, w := range c.weights {
			var one tally
			info := StepInfo{Loss: c.losses[k], Samples: 4}
			if sums, err := s.take(weighing{weight: w}, data.Sample{}, info); sums != c.sums || err != nil {
				t.Errorf("case %d: sums %v, %v", i, sums, err)
			}
			if _, err := one.take(weighing{weight: w}, data.Sample{}, info); err != nil {
				t.Error(err)
			}
			all.add(one)
		}
		if s != c.want || all != c.want || s.mean() != c.mean {
			t.Errorf("case %d: %+v and %+v, mean %v, want %+v, mean %v", i, s, all, s.mean(), c.want, c.mean)
		}
	}
	x, err := dtype.FromSlice(make([]float32, 6), 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	if w, err := lossWeight(nil, data.Sample{X: []*tensor.Dense{x}}); w != 3 || err != nil {
		t.Errorf("three samples weigh %v, %v", w, err)
	}
	if n := samplesIn(data.Sample{}); n != 0 {
		t.Errorf("%d samples in nothing", n)
	}
}
