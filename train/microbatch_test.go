package train_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// TestMicroBatchIsRanks checks that one process with micro-batches gives bitwise the same results as
// that number of ranks, including running statistics, metrics and incomplete batches.
func TestMicroBatchIsRanks(t *testing.T) {
	rows, others := blobs(43, 1), blobs(30, 2)
	images, more := shapes(43, 1), shapes(20, 2)
	for name, c := range map[string]train.Config{
		"AdamW":     {},
		"SGD":       {Rule: optim.SGD{LR: 0.1, Momentum: 0.9}},
		"Lion":      {Rule: optim.Lion{LR: 0.01}},
		"LAMB":      {Rule: optim.LAMB{LR: 0.01}},
		"clipped":   {Rule: optim.SGD{LR: 0.1}, ClipNorm: 0.3},
		"average":   {Rule: optim.Adam{LR: 0.01}, EMA: 0.9},
		"schedule":  {Rule: optim.SGD{LR: 0.1}, Schedule: optim.CosineLR{}, Plateau: &optim.Plateau{}},
		"weights":   {Rule: optim.SGD{LR: 0.1}, Loss: train.CrossEntropy{ClassWeights: []float64{1, 2, 0.5}}},
		"ignored":   {Rule: optim.SGD{LR: 0.1}, Loss: train.CrossEntropy{ClassWeights: []float64{1, 0, 0}}},
		"smoothing": {Rule: optim.SGD{LR: 0.1}, Loss: train.CrossEntropy{LabelSmoothing: 0.1}},
		"sum":       {Rule: optim.SGD{LR: 0.001}, Loss: train.CrossEntropy{Sum: true}},
		"groups":    {Rule: optim.SGD{LR: 0.1}, Groups: []train.ParamGroup{{Rank: 1, Rate: 2}}},
		"in order":  {Rule: optim.SGD{LR: 0.1}, NoShuffle: true},
		"uneven":    {Rule: optim.SGD{LR: 0.1, Momentum: 0.9}, Batch: 11},
		"one each":  {Rule: optim.SGD{LR: 0.1}, Batch: 5},
		"best":      {Rule: optim.SGD{LR: 0.1}, RestoreBest: true, Patience: 1},
	} {
		for what, x := range map[string]struct {
			net      func(testing.TB) *nn.Graph
			fit, val data.Dataset[data.Sample]
		}{
			"plain": {plainNet, rows, others}, "dropout": {dropNet, rows, others}, "normalization": {small, rows, others},
			"mixup": {plainNet, data.MixUp{Classes: 3}.Of(rows), others}, "images": {convNorm, images, more},
		} {
			if what == "mixup" && c.Loss != nil && name != "smoothing" || what == "images" && name != "average" {
				continue
			}
			c.Epochs, c.Seed, c.MicroBatch = 3, 7, 0
			if c.Batch == 0 {
				c.Batch = 16
			}
			if what == "mixup" && c.Loss == nil {
				c.Loss = train.CrossEntropy{}
			}
			for _, n := range []int{2, 3, 4, 5} {
				m := c
				if m.MicroBatch = (c.Batch + n - 1) / n; (c.Batch+m.MicroBatch-1)/m.MicroBatch != n {
					continue // no size divides the batch into so many parts
				}
				all := fitOn(t, n, x.net, c, x.fit, x.val)
				one := fitOn(t, 0, x.net, m, x.fit, x.val)[0]
				for rank, r := range all {
					label := fmt.Sprintf("%s, %s, rank %d of %d", name, what, rank, n)
					same(t, label, one.weights, r.weights)
					for i, e := range r.history {
						e.Seconds, one.history[i].Seconds = 0, 0
						if a, b := fmt.Sprintf("%+v", e), fmt.Sprintf("%+v", one.history[i]); a != b {
							t.Errorf("%s: %s\none process: %s", label, a, b)
						}
					}
				}
			}
		}
	}
}

// TestMicroBatchIsBatch checks that micro-batches agree approximately with the whole batch in steps,
// samples, losses, norms and metrics, on one process and on several.
func TestMicroBatchIsBatch(t *testing.T) {
	fit, val := blobs(45, 1), blobs(31, 2)
	for name, c := range map[string]train.Config{
		"mean": {Rule: optim.SGD{LR: 0.1, Momentum: 0.9}},
		"sum":  {Rule: optim.SGD{LR: 0.001}, Loss: train.CrossEntropy{Sum: true}},
	} {
		c.Epochs, c.Seed, c.Batch = 3, 3, 12
		one := fitOn(t, 0, plainNet, c, fit, val)[0]
		for _, ranks := range []int{0, 2, 3} {
			for _, micro := range []int{1, 2, 3, 5, 12, 40} {
				c.MicroBatch = micro
				r := fitOn(t, ranks, plainNet, c, fit, val)[0]
				if d := apart(t, one.weights, r.weights); d > 1e-6 || (d == 0) != (ranks == 0 && micro >= 12) {
					t.Errorf("%s: parts of %d on %d ranks: the weights are %.2g apart", name, micro, ranks, d)
				}
				if len(r.steps) != len(one.steps) {
					t.Fatalf("%s: parts of %d: %d steps, want %d", name, micro, len(r.steps), len(one.steps))
				}
				for i, s := range r.steps {
					if w := one.steps[i]; s.Samples != w.Samples || s.Step != w.Step || math.Abs(s.Loss-w.Loss) > 1e-5*w.Loss || math.Abs(s.Norm-w.Norm) > 1e-5*w.Norm {
						t.Errorf("%s: parts of %d: %v, whole %v", name, micro, s, w)
					}
				}
				for i, e := range r.history {
					w := one.history[i]
					if e.Samples != w.Samples || math.Abs(e.Loss-w.Loss) > 1e-5*w.Loss || math.Abs(e.Val["loss"]-w.Val["loss"]) > 1e-5*w.Val["loss"] || e.Val["accuracy"] != w.Val["accuracy"] {
						t.Errorf("%s: parts of %d on %d ranks: %v, whole %v", name, micro, ranks, e, w)
					}
				}
			}
		}
	}
	// Several batches are added up on each rank first.
	c := train.Config{Epochs: 3, Seed: 3, Batch: 12, Accumulate: 2, Rule: optim.SGD{LR: 0.1}}
	two := fitOn(t, 2, dropNet, c, fit, val)[0]
	c.MicroBatch = 6
	one := fitOn(t, 0, dropNet, c, fit, val)[0]
	if d := apart(t, one.weights, two.weights); d > 1e-6 {
		t.Errorf("accumulated: the weights are %.2g apart", d)
	}
	// Two ranks with two parts each draw what four parts do.
	c.MicroBatch = 3
	one, two = fitOn(t, 0, dropNet, c, fit, val)[0], fitOn(t, 2, dropNet, c, fit, val)[0]
	if d := apart(t, one.weights, two.weights); d > 1e-6 {
		t.Errorf("dropout: the weights are %.2g apart", d)
	}
	// Normalizations of several ranks take the samples of all in the same place.
	c = train.Config{Epochs: 2, Seed: 3, Batch: 12, NoShuffle: true, Rule: optim.SGD{LR: 0.1}, MicroBatch: 6}
	fit = blobs(48, 1)
	one = fitOn(t, 0, small, c, fit, val)[0]
	c.MicroBatch, c.SyncBatchNorm = 3, true
	c.Sampler = func(n, _ int) []int { // so that the ranks have in their first parts what one process has in its first
		order := make([]int, n)
		for i := range order {
			b, k := i/12*12, i%12
			order[i] = b + []int{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}[k]
		}
		return order
	}
	for _, r := range fitOn(t, 2, small, c, fit, val) {
		if d := apart(t, one.weights, r.weights); d > 1e-5 {
			t.Errorf("normalized: the weights are %.2g apart", d)
		}
	}
}

// A run in parts that is resumed in the middle of an epoch goes on with the same bits.
func TestMicroBatchResumes(t *testing.T) {
	fit, val := blobs(43, 1), blobs(30, 2)
	c := train.Config{Epochs: 2, Seed: 7, Batch: 16, MicroBatch: 3, EMA: 0.9, Rule: optim.Adam{LR: 0.01}}
	want := fitOn(t, 0, dropNet, c, fit, val)[0]
	c.Dir, c.Resume = t.TempDir(), true
	enough := errors.New("enough")
	c.OnStep = func(s train.StepInfo) error {
		if s.Step == 2 {
			return enough
		}
		return nil
	}
	if _, err := train.Fit(context.Background(), dropNet(t), quiet(c), fit, val); !errors.Is(err, enough) {
		t.Fatal(err)
	}
	c.OnStep = nil
	g := dropNet(t)
	if _, err := train.Fit(context.Background(), g, quiet(c), fit, val); err != nil {
		t.Fatal(err)
	}
	same(t, "resumed", want.weights, weights(g))
}

// A batch that fails in a later part changes nothing, and the next one goes on as if it had not been.
func TestMicroBatchFails(t *testing.T) {
	whole := batch(t, blobs(12, 1))
	c := quiet(train.Config{Rule: optim.SGD{LR: 0.1}, Seed: 3, Batch: 12, MicroBatch: 4, EMA: 0.5})
	one := func(spoil bool) *nn.Graph {
		g := small(t)
		tr, err := train.New(g, c)
		if err != nil {
			t.Fatal(err)
		}
		if spoil {
			before := weights(g)
			bad := data.Sample{X: []*tensor.Dense{dtype.Clone(whole.X[0])}, Y: whole.Y}
			dtype.Slice[float32](bad.X[0])[11*4] = float32(math.NaN())
			if _, err := tr.Step(context.Background(), bad); err == nil || !strings.Contains(err.Error(), "the loss is NaN; nothing was changed") {
				t.Errorf("got %v", err)
			}
			same(t, "after the failure", before, weights(g))
		}
		for range 2 {
			if _, err := tr.Step(context.Background(), whole); err != nil {
				t.Fatal(err)
			}
		}
		return g
	}
	same(t, "after a failure and two steps", weights(one(false)), weights(one(true)))
}

// A loop of one's own may give batches of any size; what cannot be divided is refused.
func TestMicroBatchOfOwnLoop(t *testing.T) {
	set := blobs(50, 1)
	at := func(from, to int) data.Sample {
		var list []data.Sample
		for i := from; i < to; i++ {
			s, err := set.At(i, nil)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, s)
		}
		b, err := data.Collate(list)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	run := func(micro int) *nn.Graph {
		g := plainNet(t)
		tr, err := train.New(g, quiet(train.Config{Rule: optim.SGD{LR: 0.1}, Batch: 8, MicroBatch: micro}))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range [][2]int{{0, 8}, {8, 9}, {9, 33}, {33, 50}} {
			if s, err := tr.Step(context.Background(), at(x[0], x[1])); err != nil || s.Samples != x[1]-x[0] || !s.Updated {
				t.Fatal(s, err)
			}
		}
		return g
	}
	if d := apart(t, weights(run(0)), weights(run(4))); d > 1e-6 || d == 0 {
		t.Errorf("the weights are %.2g apart", d)
	}
	tr, err := train.New(plainNet(t), quiet(train.Config{Loss: train.CrossEntropy{}, MicroBatch: 4}))
	if err != nil {
		t.Fatal(err)
	}
	b := at(0, 8)
	b.Y = at(0, 7).Y
	if _, err := tr.Step(context.Background(), b); err == nil || !strings.Contains(err.Error(), "target 0 has shape (7)") {
		t.Errorf("got %v", err)
	}
	errs := together(2, func(rank int, comm train.Communicator) error {
		tr, err := train.New(plainNet(t), quiet(train.Config{Communicator: comm, Batch: 8, MicroBatch: 2}))
		if err == nil {
			_, err = tr.Step(context.Background(), at(0, 4+rank))
		}
		return err
	})
	all(t, errs, "rank 1: train: a batch of 5 samples: with MicroBatch a rank takes at most its part of Batch, 4 here")
}

// A model that fixes its batch computes parts of that size.
func TestMicroBatchOfFixedModel(t *testing.T) {
	fit, val := blobs(45, 1), blobs(32, 2)
	fixed := func(t testing.TB) *nn.Graph { return plainOf(t, "4") }
	c := train.Config{Epochs: 2, Rule: optim.SGD{LR: 0.1}, Seed: 5, Batch: 16, MicroBatch: 4}
	want := fitOn(t, 0, plainNet, c, cut{fit, 44}, val)[0]
	for _, ranks := range []int{0, 2, 4} {
		got := fitOn(t, ranks, fixed, c, cut{fit, 44}, val)[0]
		if d := apart(t, want.weights, got.weights); d > 1e-6 || ranks != 2 && d != 0 {
			t.Errorf("%d ranks: the weights are %.2g apart", ranks, d)
		}
	}
	for _, x := range []struct {
		batch, micro int
		says         string
	}{
		{16, 3, "the model fixes the batch to 4, MicroBatch is 3: want 4"}, {18, 4, "Batch is 18, MicroBatch 4 on 1 processes: want a multiple of 4"}, {0, 4, ""},
	} {
		c.Batch, c.MicroBatch = x.batch, x.micro
		if _, err := train.Fit(context.Background(), fixed(t), quiet(c), fit, val); (err == nil) != (x.says == "") || err != nil && !strings.Contains(err.Error(), x.says) {
			t.Errorf("got %v, want %q", err, x.says)
		}
	}
}

// cut is the first samples of a set.
type cut struct {
	data.Dataset[data.Sample]
	n int
}

func (c cut) Len() int { return c.n }
