package train_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// A target without a score is an error that names its sample, in whatever order, batches, parts and shards it is read, for training, validation and
// gradients.
func TestBadTargetNamesItsSample(t *testing.T) {
	const bad = 13
	reversed := func(n, epoch int) []int {
		order := data.Order(n, 5, epoch)
		slices.Reverse(order)
		return order
	}
	wrong := withBad(t, blobs(26, 1), bad, func(s *data.Sample) {
		s.Y = []*tensor.Dense{dtype.New(dtype.Int64)}
		dtype.Slice[int64](s.Y[0])[0] = 7
	})
	want := fmt.Sprintf("the target of sample %d is class 7, the output has 3 classes", bad)
	for name, c := range map[string]train.Config{
		"shuffled": {Batch: 4, Seed: 3}, "in order": {Batch: 4, NoShuffle: true}, "a sampler": {Batch: 4, Sampler: reversed}, "in parts": {Batch: 8, MicroBatch: 2}, "accumulated": {Batch: 4, Accumulate: 3},
	} {
		c.Metrics = []train.Metric{}
		for _, where := range []string{"training", "validation", "gradients"} {
			fit, val := wrong, data.Dataset[data.Sample](blobs(8, 1))
			if where != "training" {
				fit, val = val, wrong
			}
			tr, err := train.New(small(t), quiet(c))
			if err != nil {
				t.Fatal(err)
			}
			if where == "gradients" {
				for _, err = range tr.Gradients(context.Background(), wrong) {
					if err != nil {
						break
					}
				}
			} else {
				_, err = tr.Fit(context.Background(), fit, val)
			}
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s, %s: %v, want %s", name, where, err, want)
			}
		}
	}
	errs := together(2, func(rank int, comm train.Communicator) error {
		_, err := train.Fit(context.Background(), small(t), quiet(train.Config{Batch: 8, Seed: 3, Communicator: comm}), wrong, nil)
		return err
	})
	if err := errors.Join(errs...); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("on two ranks: %v, want %s", err, want)
	}
}

// Of a target of several elements, the element is named.
func TestBadElementNamesItsSample(t *testing.T) {
	g := nn.New("tags")
	if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Apply(layers.Linear{Out: 3}, e.Input("x", "float32[N,4]"))) }); err != nil {
		t.Fatal(err)
	}
	tags := data.Map(blobs(20, 1), func(s data.Sample, _ *rand.Rand) (data.Sample, error) {
		return data.Sample{X: s.X, Y: []*tensor.Dense{dtype.New(dtype.Float32, 3)}}, nil
	})
	tags = withBad(t, tags, 11, func(s *data.Sample) { dtype.Slice[float32](s.Y[0])[2] = 1.5 })
	for want, loss := range map[string]train.Loss{
		"train: BCE: element 2 of the target of sample 11 is 1.5: want 0 to 1":           train.BCEWithLogits{},
		"train: output y: BCE: element 2 of the target of sample 11 is 1.5: want 0 to 1": train.Joint{Losses: []train.Loss{train.BCEWithLogits{}}},
	} {
		_, err := train.Fit(context.Background(), g, quiet(train.Config{Batch: 4, Loss: loss}), tags, nil)
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// withBad is a set in which one sample is changed.
func withBad(t *testing.T, s data.Dataset[data.Sample], at int, change func(s *data.Sample)) data.Dataset[data.Sample] {
	t.Helper()
	return data.Map(data.Of(upTo(s.Len())...), func(i int, r *rand.Rand) (data.Sample, error) {
		x, err := s.At(i, r)
		if err == nil && i == at {
			change(&x)
		}
		return x, err
	})
}
