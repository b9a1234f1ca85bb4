package train_test

import (
	"context"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
)

// A layer is made narrower between steps: training goes on, state cut along.
func TestCutBetweenSteps(t *testing.T) {
	g := small(t)
	tr, err := train.New(g, train.Config{Rule: optim.AdamW{}, EMA: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	b := batch(t, blobs(16, 1))
	steps := func(rows int) {
		t.Helper()
		for range 2 {
			if _, err := tr.Step(context.Background(), b); err != nil {
				t.Fatal(err)
			}
		}
		if n := param(t, g, "w1").Data().Shape()[0]; n != rows {
			t.Errorf("w1 has %d rows, want %d", n, rows)
		}
	}
	steps(8)
	if err := g.Edit(func(e *nn.Edit) {
		groups := e.Channels().Groups()
		if len(groups) == 0 {
			e.Failf("there are no channels")
			return
		}
		e.RemoveAtoms(groups[0].Atoms[:3]...)
	}); err != nil {
		t.Fatal(err)
	}
	steps(5)
	if err := g.Check(); err != nil {
		t.Error(err)
	}
}

// A layer that is made narrower between the batches of one update: the update begins anew.
func TestCutBetweenBatches(t *testing.T) {
	g := small(t)
	tr, err := train.New(g, quiet(train.Config{Rule: optim.AdamW{}, Accumulate: 2}))
	if err != nil {
		t.Fatal(err)
	}
	b := batch(t, blobs(16, 1))
	step := func(updated bool) {
		t.Helper()
		if info, err := tr.Step(context.Background(), b); err != nil || info.Updated != updated {
			t.Fatalf("%+v, %v, want an update: %v", info, err, updated)
		}
	}
	step(false)
	if err := g.Edit(func(e *nn.Edit) { e.RemoveAtoms(e.Channels().Groups()[0].Atoms[:3]...) }); err != nil {
		t.Fatal(err)
	}
	step(false)
	step(true)
}
