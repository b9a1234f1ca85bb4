package train_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// TestRanksChooseOneLoss: without Config.Loss a rank whose part of the first batch has targets that happen to add up to one would take cross-entropy beside
// the squared errors of the others.
func TestRanksChooseOneLoss(t *testing.T) {
	x, y := dtype.New(dtype.Float32, 16, 4), dtype.New(dtype.Float32, 16, 3)
	for i := range 16 {
		dtype.Slice[float32](x)[4*i+i%4] = 1
		dtype.Slice[float32](y)[3*i+i%3] = 1
		if i >= 8 {
			dtype.Slice[float32](y)[3*i] += 0.5
		}
	}
	set, err := data.Tensors(x, y)
	if err != nil {
		t.Fatal(err)
	}
	for _, loss := range []train.Loss{nil, train.MSE{}} {
		errs := together(2, func(rank int, comm train.Communicator) error {
			c := quiet(train.Config{Communicator: comm, Epochs: 1, Batch: 16, NoShuffle: true, Loss: loss, Rule: optim.SGD{LR: 0.1}})
			_, err := train.Fit(t.Context(), plainNet(t), c, set, nil)
			return err
		})
		for rank, err := range errs {
			if got := err != nil && strings.Contains(err.Error(), "set Config.Loss"); got != (loss == nil) {
				t.Errorf("loss %v, rank %d: %v", loss, rank, err)
			}
		}
	}
}

// TestRanksResumeRefusedStep: a gradient that is not finite in the middle of an epoch, which ranks see in the sum of theirs, leaves a checkpoint.
func TestRanksResumeRefusedStep(t *testing.T) {
	run := func(dir string, resume, fault bool) ([]error, map[string][]byte) {
		set := data.Map(data.Of(upTo(24)...), func(i int, _ *rand.Rand) (data.Sample, error) {
			row := func(n int, x float32) *tensor.Dense {
				d := dtype.New(dtype.Float32, n)
				for k := range n {
					dtype.Slice[float32](d)[k] = x
				}
				return d
			}
			z := float32(1)
			if fault && i == 18 { // of the second batch, the second rank's part
				z = 0
			}
			return data.Sample{X: []*tensor.Dense{row(4, float32(i)), row(3, z)}, Y: []*tensor.Dense{row(1, 1)}}, nil
		})
		g := [2]*nn.Graph{fragile(t, dtype.Float32), fragile(t, dtype.Float32)}
		errs := together(2, func(rank int, comm train.Communicator) error {
			c := quiet(train.Config{Communicator: comm, Epochs: 2, Batch: 12, NoShuffle: true, Loss: leaning("Add"), Metrics: []train.Metric{}, Rule: optim.SGD{LR: 0.1, Momentum: 0.9}, Dir: dir, Resume: resume})
			_, err := train.Fit(t.Context(), g[rank], c, set, nil)
			return err
		})
		return errs, weights(g[1])
	}
	errs, want := run(t.TempDir(), false, false)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	errs, _ = run(dir, false, true)
	all(t, errs, "the gradient of p is not finite")
	if !train.HasCheckpoint(dir) {
		t.Error("no checkpoint")
	}
	errs, got := run(dir, true, false)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	same(t, "resumed", want, got)
}
