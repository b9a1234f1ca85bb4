package train_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

// convNorm has normalizations over images, one of them with a ReLU after it.
func convNorm(t testing.TB) *nn.Graph {
	t.Helper()
	g := nn.New("convnorm")
	err := g.Edit(func(e *nn.Edit) {
		e.Output("scores", e.Apply(nn.Sequential{
			layers.Conv{Out: 4, Kernel: []int{3}, Same: true, NoBias: true}, layers.BatchNorm{}, layers.ReLU{}, layers.MaxPool{Kernel: []int{2}},
			layers.Conv{Out: 6, Kernel: []int{3}, Same: true}, layers.BatchNorm{}, layers.GlobalAvgPool{}, layers.Flatten{}, layers.Linear{Out: 3},
		}, e.Input("image", "float32[N,1,12,12]")))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestSyncBatchNorm checks that with synchronized normalization any number of ranks agrees
// approximately with one process with the joined batch, including running statistics, for uneven,
// empty, unequally weighted and accumulated parts.
func TestSyncBatchNorm(t *testing.T) {
	for name, x := range map[string]struct {
		net      func(testing.TB) *nn.Graph
		fit, val data.Dataset[data.Sample]
	}{"rows": {small, blobs(41, 1), blobs(20, 2)}, "images": {convNorm, shapes(41, 1), shapes(20, 2)}} {
		for what, c := range map[string]train.Config{
			"plain":      {Batch: 10},
			"weights":    {Batch: 10, Loss: train.CrossEntropy{ClassWeights: []float64{1, 3, 0.2}}},
			"accumulate": {Batch: 10, Accumulate: 2, BucketBytes: 16},
			"sum":        {Batch: 10, Loss: train.CrossEntropy{Sum: true}},
		} {
			c.Epochs, c.Rule, c.EMA = 2, optim.SGD{LR: 0.05, Momentum: 0.9}, 0.5
			if what == "sum" {
				c.Rule = optim.SGD{LR: 0.005}
			}
			one := fitOn(t, 0, x.net, c, x.fit, x.val)[0]
			c.SyncBatchNorm = true
			for _, n := range []int{2, 3, 4} {
				all := fitOn(t, n, x.net, c, x.fit, x.val)
				for rank, r := range all {
					same(t, fmt.Sprint("rank ", rank), all[0].weights, r.weights)
				}
				d := apart(t, one.weights, all[0].weights)
				t.Logf("%s, %s, %d ranks: the weights are %.2g apart", name, what, n, d)
				if !(d < 2e-5) {
					t.Errorf("%s, %s, %d ranks: the weights are %.2g apart", name, what, n, d)
				}
			}
			c.SyncBatchNorm = false
			if d := apart(t, one.weights, fitOn(t, 2, x.net, c, x.fit, x.val)[0].weights); d < 1e-4 {
				t.Errorf("%s, %s: local statistics are only %.2g apart: nothing is shown", name, what, d)
			}
		}
	}
}

// A rank that fails among normalizations ends all.
func TestSyncBatchNormFails(t *testing.T) {
	fit := blobs(48, 1)
	for _, accumulate := range []int{1, 3} {
		errs := together(3, func(rank int, comm train.Communicator) error {
			c := quiet(train.Config{Communicator: comm, Batch: 12, NoShuffle: true, SyncBatchNorm: true, Accumulate: accumulate})
			s := fit
			if rank == 1 {
				s = broken{fit, func(i int) error {
					if i == 17 { // of the second batch
						return errors.New("the file is cut off")
					}
					return nil
				}}
			}
			_, err := train.Fit(context.Background(), small(t), c, s, nil)
			return err
		})
		all(t, errs, "rank 1: data: sample 17: the file is cut off")
	}
}
