package train_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/graft-ml/graft/internal/localcomm"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

func init() {
	train.Local = func(n int) (list []train.Communicator) {
		for _, c := range localcomm.New(n) {
			list = append(list, c)
		}
		return list
	}
}

// together runs f as each of n ranks and returns their errors.
func together(n int, f func(rank int, c train.Communicator) error) []error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i, c := range localcomm.New(n) {
		group.Go(func() {
			if errs[i] = f(i, c); errs[i] != nil && !errors.As(errs[i], new(*train.RankError)) {
				c.Abort(errs[i])
			}
		})
	}
	group.Wait()
	return errs
}

// plainNet returns a network without normalization and chance: [N, 4] to 3 classes.
func plainNet(t testing.TB) *nn.Graph { return plainOf(t, "N") }

// plainOf is plainNet with a batch dimension of another name, or a number.
func plainOf(t testing.TB, batch string) *nn.Graph {
	t.Helper()
	g := nn.New("plain")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32["+batch+",4]")
		h := e.Node(std.GemmConfig{TransB: true}, x, e.Param("w1", initial.FanIn{}, 8, 4), e.Param("b1", initial.Zeros{}, 8)).Out(0)
		h = e.Node(op.Plain("Relu"), h).Out(0)
		e.Output("y", e.Node(std.GemmConfig{TransB: true}, h, e.Param("w2", initial.FanIn{}, 3, 8), e.Param("b2", initial.Zeros{}, 3)).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// dropNet is plainNet with dropout.
func dropNet(t testing.TB) *nn.Graph {
	t.Helper()
	g := nn.New("drop")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		h := e.Node(std.GemmConfig{TransB: true}, x, e.Param("w1", initial.FanIn{}, 8, 4), e.Param("b1", initial.Zeros{}, 8)).Out(0)
		h = e.Apply(layers.Dropout{P: 0.3}, h)
		e.Output("y", e.Node(std.GemmConfig{TransB: true}, h, e.Param("w2", initial.FanIn{}, 3, 8), e.Param("b2", initial.Zeros{}, 3)).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// ran is the result of a run.
type ran struct {
	weights map[string][]byte
	history train.History
	steps   []train.StepInfo
}

func fitOn(t testing.TB, ranks int, build func(testing.TB) *nn.Graph, c train.Config, fit, val data.Dataset[data.Sample]) []ran {
	t.Helper()
	all := make([]ran, max(1, ranks))
	one := func(rank int, comm train.Communicator) error {
		g := build(t)
		c := quiet(c)
		c.Communicator = comm
		c.OnStep = func(s train.StepInfo) error { all[rank].steps = append(all[rank].steps, s); return nil }
		h, err := train.Fit(context.Background(), g, c, fit, val)
		all[rank].weights, all[rank].history = weights(g), h
		return err
	}
	if ranks == 0 {
		if err := one(0, nil); err != nil {
			t.Fatal(err)
		}
		return all
	}
	for _, err := range together(ranks, one) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// apart returns the largest difference between weights, as a share of the largest weight.
func apart(t testing.TB, a, b map[string][]byte) float64 {
	t.Helper()
	worst, most := 0.0, 0.0
	for name, x := range a {
		y := b[name]
		for i := 0; i+4 <= len(x); i += 4 {
			u, v := float64(f32(x[i:])), float64(f32(y[i:]))
			worst, most = max(worst, math.Abs(u-v)), max(most, math.Abs(u))
		}
	}
	return worst / most
}

func f32(b []byte) float32 {
	return math.Float32frombits(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
}

// A rank attaches the loss to its graph when it meets targets of another type, which another rank without samples does not meet: those
// of MixUp are shares, those of validation classes, of which the second rank gets none.
func TestRanksMeetOtherTargets(t *testing.T) {
	fit, val := data.MixUp{Classes: 3}.Of(blobs(43, 1)), blobs(5, 2)
	c := train.Config{Epochs: 3, Seed: 7, Rule: optim.SGD{LR: 0.1}, Loss: train.CrossEntropy{}, Batch: 8, Accumulate: 2, BucketBytes: 64}
	one := fitOn(t, 0, plainNet, c, fit, val)[0]
	c.Batch, c.Accumulate = 16, 1
	for rank, two := range fitOn(t, 2, plainNet, c, fit, val) {
		same(t, fmt.Sprint("rank ", rank), one.weights, two.weights)
	}
}

// TestTwoRanksAreTwoAccumulatedBatches checks that two ranks give bitwise the same results as one
// process that accumulates two batches, including incomplete batches and dropout, with any bucket
// size.
func TestTwoRanksAreTwoAccumulatedBatches(t *testing.T) {
	fit, val := blobs(43, 1), blobs(30, 2)
	for name, c := range map[string]train.Config{
		"AdamW":   {Rule: optim.AdamW{LR: 0.01}},
		"SGD":     {Rule: optim.SGD{LR: 0.1, Momentum: 0.9}, EMA: 0.9, ClipNorm: 0.5, Schedule: optim.CosineLR{}},
		"weights": {Loss: train.CrossEntropy{ClassWeights: []float64{1, 2, 0.5}}, Rule: optim.SGD{LR: 0.1}, BucketBytes: 64},
		"sum":     {Loss: train.CrossEntropy{Sum: true}, Rule: optim.SGD{LR: 0.001}, BucketBytes: 1},
		"Lion":    {Rule: optim.Lion{LR: 0.01}, BucketBytes: 1},
	} {
		for _, net := range []func(testing.TB) *nn.Graph{plainNet, dropNet} {
			c.Epochs, c.Seed = 3, 7
			c.Batch, c.Accumulate = 8, 2
			one := fitOn(t, 0, net, c, fit, val)[0]
			c.Batch, c.Accumulate, c.MicroBatch = 16, 1, 8
			parts := fitOn(t, 0, net, c, fit, val)[0]
			same(t, name+" in parts", one.weights, parts.weights)
			one = parts
			c.MicroBatch = 0
			for rank, two := range fitOn(t, 2, net, c, fit, val) {
				same(t, fmt.Sprint(name, " rank ", rank), one.weights, two.weights)
				for i, e := range two.history {
					w := one.history[i]
					if math.Abs(e.Loss-w.Loss) > 1e-12 || e.Samples != 43 || e.Norm != w.Norm || e.Val["accuracy"] != w.Val["accuracy"] || e.Best != w.Best {
						t.Errorf("%s: rank %d: %v, one process: %v", name, rank, e, w)
					}
				}
			}
		}
	}
}

// TestRanksAreOneBatch checks that any number of ranks agrees approximately with one process with the joined batch.
func TestRanksAreOneBatch(t *testing.T) {
	fit, val := blobs(45, 1), blobs(31, 2)
	c := train.Config{Epochs: 3, Seed: 3, Batch: 12, Rule: optim.SGD{LR: 0.1, Momentum: 0.9}, BucketBytes: 100}
	one := fitOn(t, 0, plainNet, c, fit, val)[0]
	for _, n := range []int{2, 3, 4, 5} {
		all := fitOn(t, n, plainNet, c, fit, val)
		for rank, r := range all {
			same(t, fmt.Sprint("rank ", rank), all[0].weights, r.weights)
		}
		d := apart(t, one.weights, all[0].weights)
		t.Logf("%d ranks: the weights are %.2g apart", n, d)
		if d > 1e-6 {
			t.Errorf("%d ranks: the weights are %.2g apart", n, d)
		}
		if len(all[0].steps) != len(one.steps) {
			t.Errorf("%d ranks: %d steps, one process: %d", n, len(all[0].steps), len(one.steps))
		}
		for i, s := range all[0].steps {
			if w := one.steps[i]; s.Samples != w.Samples || math.Abs(s.Loss-w.Loss) > 1e-5 || math.Abs(s.Norm-w.Norm) > 1e-5 {
				t.Errorf("%d ranks: %v, one process: %v", n, s, w)
			}
		}
	}
}

// TestReduceInHalves checks that reducing gradients in 16 bits is close to full precision, and the same on all ranks.
func TestReduceInHalves(t *testing.T) {
	fit := blobs(45, 1)
	c := train.Config{Epochs: 3, Seed: 3, Batch: 12, Rule: optim.SGD{LR: 0.1}, BucketBytes: 100}
	whole := fitOn(t, 3, plainNet, c, fit, nil)
	for in, bound := range map[dtype.DType]float64{dtype.Float16: 2e-3, dtype.BFloat16: 2e-2} {
		c.ReduceIn = in
		all := fitOn(t, 3, plainNet, c, fit, nil)
		for rank, r := range all {
			same(t, fmt.Sprint("rank ", rank), all[0].weights, r.weights)
		}
		d := apart(t, whole[0].weights, all[0].weights)
		t.Logf("%v: the weights are %.2g apart", in, d)
		if d > bound || d == 0 {
			t.Errorf("%v: the weights are %.2g apart", in, d)
		}
	}
}

// TestLocalStatistics checks that each rank normalizes by its own part of the batch, and that all end
// with rank 0's running statistics.
func TestLocalStatistics(t *testing.T) {
	fit, val := blobs(44, 1), blobs(31, 2)
	c := train.Config{Epochs: 2, Seed: 3, Batch: 12, Rule: optim.SGD{LR: 0.1}, EMA: 0.5}
	all := fitOn(t, 3, small, c, fit, val)
	for rank, r := range all {
		same(t, fmt.Sprint("rank ", rank), all[0].weights, r.weights)
		if a, b := fmt.Sprint(r.history[1].Val), fmt.Sprint(all[0].history[1].Val); a != b {
			t.Errorf("rank %d validates %v, rank 0 %v", rank, a, b)
		}
	}
	one := fitOn(t, 0, small, train.Config{Epochs: 1}, fit, nil)[0]
	if bytes.Equal(one.weights["mean"], weights(small(t))["mean"]) || bytes.Equal(all[0].weights["mean"], weights(small(t))["mean"]) {
		t.Error("the statistics stand still")
	}
}

// all expects the same error of all ranks.
func all(t *testing.T, errs []error, parts ...string) {
	t.Helper()
	for rank, err := range errs {
		for _, s := range parts {
			if err == nil || !strings.Contains(err.Error(), s) {
				t.Errorf("rank %d: %v, want %q", rank, err, s)
			}
		}
	}
}

func TestRanksMustAgree(t *testing.T) {
	fit := blobs(24, 1)
	for what, f := range map[string]func(c *train.Config, g **nn.Graph, s *data.Dataset[data.Sample]){
		"rank 1: train: the model differs from that of rank 0": func(_ *train.Config, g **nn.Graph, _ *data.Dataset[data.Sample]) {
			dtype.Slice[float32](param(t, *g, "w2").Data())[3]++
		},
		"rank 1: train: Config.Seed differs from that of rank 0":               func(c *train.Config, _ **nn.Graph, _ *data.Dataset[data.Sample]) { c.Seed++ },
		"rank 1: train: Config.Rule differs from that of rank 0":               func(c *train.Config, _ **nn.Graph, _ *data.Dataset[data.Sample]) { c.Rule = optim.SGD{LR: 0.2} },
		"rank 1: train: the length of the data differs from that of rank 0":    func(_ *train.Config, _ **nn.Graph, s *data.Dataset[data.Sample]) { *s = blobs(25, 1) },
		"rank 1: train: a sample of the data differs from that of rank 0":      func(_ *train.Config, _ **nn.Graph, s *data.Dataset[data.Sample]) { *s = blobs(24, 2) },
		"rank 1: train: Epochs is -1":                                          func(c *train.Config, _ **nn.Graph, _ *data.Dataset[data.Sample]) { c.Epochs = -1 },
		"rank 1: train: there is no graph":                                     func(_ *train.Config, g **nn.Graph, _ *data.Dataset[data.Sample]) { *g = nil },
		"rank 1: train: there are no samples to train on":                      func(_ *train.Config, _ **nn.Graph, s *data.Dataset[data.Sample]) { *s = nil },
		"rank 1: train: Config.Loss differs from that of rank 0: all ranks mu": func(c *train.Config, _ **nn.Graph, _ *data.Dataset[data.Sample]) { c.Loss = train.MSE{} },
	} {
		errs := together(3, func(rank int, comm train.Communicator) error {
			c, g, s := quiet(train.Config{Communicator: comm, Rule: optim.SGD{LR: 0.1}}), plainNet(t), fit
			if rank == 1 {
				f(&c, &g, &s)
			}
			_, err := train.Fit(context.Background(), g, c, s, nil)
			return err
		})
		all(t, errs, what)
	}
	for _, i := range []int{0, 23} { // the first and the last sample are compared
		errs := together(2, func(rank int, comm train.Communicator) error {
			s := data.Dataset[data.Sample](fit)
			if rank == 1 {
				s = other{fit, i}
			}
			_, err := train.Fit(context.Background(), plainNet(t), quiet(train.Config{Communicator: comm}), s, nil)
			return err
		})
		all(t, errs, "rank 1: train: a sample of the data differs from that of rank 0")
	}
	errs := together(3, func(_ int, comm train.Communicator) error {
		_, err := train.Fit(context.Background(), plainNet(t), quiet(train.Config{Communicator: comm, Batch: 2}), fit, nil)
		return err
	})
	for _, err := range errs {
		if err == nil || err.Error() != "train: a batch of 2 samples for 3 ranks: want one for each at least" {
			t.Error(err)
		}
	}
}

// other is a set with one sample of its own.
type other struct {
	data.Dataset[data.Sample]
	at int
}

func (o other) At(i int, r *rand.Rand) (data.Sample, error) {
	s, err := o.Dataset.At(i, r)
	if i == o.at && err == nil {
		s.X = []*tensor.Dense{dtype.Clone(s.X[0])}
		dtype.Slice[float32](s.X[0])[0]++
	}
	return s, err
}

// A model that fixes its batch is not validated by the samples that are left, which is said once, by the first rank.
func TestFixedBatchOnRanks(t *testing.T) {
	fit, val := blobs(24, 1), blobs(23, 2)
	for _, ranks := range []int{0, 2} {
		var notes []string
		var mu sync.Mutex
		one := func(rank int, comm train.Communicator) error {
			c := train.Config{Communicator: comm, Log: func(e train.Event) {
				if mu.Lock(); e.Kind == train.Note {
					notes = append(notes, e.Text)
				}
				mu.Unlock()
			}}
			tr, err := train.New(plainOf(t, "4"), c)
			if err != nil {
				return err
			}
			ran, err := tr.Fit(context.Background(), fit, val)
			if err == nil && ran[0].Samples != 24 {
				t.Errorf("%d ranks: %d samples", ranks, ran[0].Samples)
			}
			return err
		}
		if ranks == 0 {
			if err := one(0, nil); err != nil {
				t.Fatal(err)
			}
		} else if err := errors.Join(together(ranks, one)...); err != nil {
			t.Fatal(err)
		}
		if want := "[the model fixes the batch to 4: the last 3 samples of 23 were not validated]"; fmt.Sprint(notes) != want {
			t.Errorf("%d ranks: notes %v, want %s", ranks, notes, want)
		}
	}
}
