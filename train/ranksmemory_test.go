package train_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

// TestRanksMemory: gradients that do not fit in memory are an error on all ranks, and the next step, with more memory, is taken.
func TestRanksMemory(t *testing.T) {
	const params = 1024*1024 + 1024
	ranksMemory(t, dtype.Undefined, 4*params)
	ranksMemory(t, dtype.Float16, 2*params+8) // what is sent, with a scale from each rank
}

// ranksMemory wants the gradients to take so many bytes.
func ranksMemory(t *testing.T, in dtype.DType, bytes int) {
	defer nn.LimitMemory(0)
	errs := together(2, func(rank int, c train.Communicator) error {
		g, s := wide(t)
		tr, err := train.New(g, train.Config{Loss: train.MSE{}, Rule: optim.SGD{LR: 0.01}, Batch: 4, Log: train.Quiet, Communicator: c, ReduceIn: in})
		if err != nil {
			return err
		}
		defer tr.Close()
		all := []float64{0}
		wait := func() error { return c.AllReduceFloat64(all) }
		if err := wait(); err != nil {
			return err
		}
		if rank == 0 {
			nn.LimitMemory(budget.Default() - budget.LeftCollected() + 1<<20)
		}
		if err := wait(); err != nil {
			return err
		}
		batch, err := batchOf(s)
		if err != nil {
			return err
		}
		if _, err := tr.Step(context.Background(), batch); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("the gradients of all ranks: takes %d bytes of memory", bytes)) {
			t.Errorf("rank %d: %v", rank, err)
		}
		if err := wait(); err != nil {
			return err
		}
		nn.LimitMemory(0)
		if err := wait(); err != nil {
			return err
		}
		_, err = tr.Step(context.Background(), batch)
		return err
	})
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

// batchOf returns the first samples of a set.
func batchOf(s data.Dataset[data.Sample]) (data.Sample, error) {
	var list []data.Sample
	for i := range 4 {
		x, err := s.At(i, nil)
		if err != nil {
			return data.Sample{}, err
		}
		list = append(list, x)
	}
	return data.Collate(list)
}

// TestRanksCut: channels that are removed between two steps are removed from what ranks exchange, too: all have the same weights afterwards.
func TestRanksCut(t *testing.T) {
	x, y := dtype.New(dtype.Float32, 8, 4), dtype.New(dtype.Float32, 8, 3)
	for i := range x.Float32s() {
		x.Float32s()[i] = float32(i%7) - 3
	}
	for i := range y.Float32s() {
		y.Float32s()[i] = float32(i%5) - 2
	}
	set, err := data.Tensors(x, y)
	if err != nil {
		t.Fatal(err)
	}
	var got [2]map[string][]byte
	errs := together(2, func(rank int, c train.Communicator) error {
		g := plainNet(t)
		tr, err := train.New(g, train.Config{Loss: train.MSE{}, Rule: optim.AdamW{}, Batch: 4, Epochs: 3, Log: train.Quiet, Communicator: c})
		if err != nil {
			return err
		}
		defer tr.Close()
		for e, err := range tr.Epochs(context.Background(), set, nil) {
			if err != nil {
				return err
			}
			if e.Epoch != 1 {
				continue
			}
			if err := g.Edit(func(e *nn.Edit) { a := e.Channels().Groups()[0].Atoms; e.RemoveAtoms(a[1], a[4]) }); err != nil {
				return err
			}
		}
		got[rank] = weights(g)
		return nil
	})
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, b := range got[0] {
		if !bytes.Equal(b, got[1][name]) {
			t.Errorf("%s differs between the ranks", name)
		}
	}
}
