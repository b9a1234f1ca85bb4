package train_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

// A FineTuner chooses the same on all ranks, goes on from rank 0's files, and ends where one process ends, nearly.
func TestFineTuneOnRanks(t *testing.T) {
	ctx := context.Background()
	g := barsNet(t, 3, nil)
	if _, err := train.Fit(ctx, g, quiet(train.Config{Epochs: 2, Seed: 1}), shapes(600, 1), nil); err != nil {
		t.Fatal(err)
	}
	fit, val := shapes(40, 5), shapes(120, 6)
	one, err := train.FineTuner{Head: &nn.Head{Classes: 3}, Config: quiet(train.Config{Seed: 3, Epochs: 4})}.FineTune(ctx, nntest.Clone(t, g), fit, val)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(resume bool, broken func(rank int) data.Dataset[data.Sample]) ([]train.Outcome, []map[string][]byte, []error) {
		outs, ends := make([]train.Outcome, 2), make([]map[string][]byte, 2)
		return outs, ends, together(2, func(rank int, comm train.Communicator) (err error) {
			c := nntest.Clone(t, g)
			config := quiet(train.Config{Seed: 3, Epochs: 4, Communicator: comm, Dir: filepath.Join(dir, fmt.Sprint(rank)), Resume: resume})
			outs[rank], err = train.FineTuner{Policy: train.Full, Head: &nn.Head{Classes: 3}, Config: config}.FineTune(ctx, c, broken(rank), val)
			ends[rank] = weights(c)
			return err
		})
	}
	whole := func(int) data.Dataset[data.Sample] { return fit }
	outs, ends, errs := run(false, whole)
	for rank, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprint("rank ", rank), ends[0], ends[rank])
		if outs[rank].Policy != one.Policy || outs[rank].Val["accuracy"] < one.Val["accuracy"]-0.05 || outs[rank].Folds != one.Folds {
			t.Errorf("rank %d: %+v, one process: %+v", rank, outs[rank], one)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "1")); err == nil {
		t.Error("rank 1 writes")
	}
	_, again, errs := run(true, whole)
	for rank, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprint("resumed, rank ", rank), ends[0], again[rank])
	}
	_, _, errs = run(false, func(rank int) data.Dataset[data.Sample] {
		if rank == 0 {
			return fit
		}
		return broken{fit, func(i int) error {
			if i == 30 {
				return errors.New("the file is cut off")
			}
			return nil
		}}
	})
	all(t, errs, "rank 1: data: sample 30: the file is cut off")
}
