package train_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// brokenLoss is one's own loss, which panics while it is built, or when the weight of a batch is asked for.
type brokenLoss struct {
	train.CrossEntropy
	build bool
}

func (l brokenLoss) Build(e *nn.Edit, out, want []*nn.Value) *nn.Value {
	if l.build {
		panic("a loss of one's own")
	}
	return l.CrossEntropy.Build(e, out, want)
}

func (l brokenLoss) Weight([]*tensor.Dense) (float64, error) { panic("a loss of one's own") }

// TestLossPanics: the panic of a loss reaches the caller; then the graph can be edited and trained, and the trainer closed, twice and from several goroutines.
func TestLossPanics(t *testing.T) {
	for _, build := range []bool{false, true} {
		g, c := plainNet(t), train.Config{Epochs: 1, Batch: 8, Rule: optim.SGD{LR: 0.1}, Loss: brokenLoss{build: build}}
		var trainer *train.Trainer
		func() {
			defer func() {
				if p := recover(); p == nil {
					t.Errorf("build %v: no panic", build)
				}
			}()
			var err error
			if trainer, err = train.New(g, quiet(c)); err == nil {
				_, err = trainer.Fit(context.Background(), blobs(40, 1), nil)
			}
			t.Errorf("build %v: %v", build, err)
		}()
		if trainer != nil {
			var closing sync.WaitGroup
			for range 3 {
				closing.Go(func() {
					if err := errors.Join(trainer.Close(), trainer.Close()); err != nil {
						t.Logf("beside another Close: %v", err) // refused by name
					}
				})
			}
			closing.Wait()
		}
		c.Loss = nil
		if _, err := train.Fit(context.Background(), g, quiet(c), blobs(40, 1), nil); err != nil {
			t.Errorf("build %v: then: %v", build, err)
		}
	}
}

// editingLoss is one's own loss, which edits the graph that is trained.
type editingLoss struct {
	train.CrossEntropy
	g *nn.Graph
}

func (l editingLoss) Build(e *nn.Edit, out, want []*nn.Value) *nn.Value {
	if err := l.g.Edit(func(e *nn.Edit) { e.Freeze() }); err != nil {
		panic(err)
	}
	return l.CrossEntropy.Build(e, out, want)
}

// TestEditDuringStep: a step whose loss edits the graph changes no parameter.
func TestEditDuringStep(t *testing.T) {
	for _, batches := range []int{1, 2} {
		g := plainNet(t)
		trainer, err := train.New(g, quiet(train.Config{Rule: optim.AdamW{LR: 0.1}, Accumulate: batches, Loss: editingLoss{g: g}}))
		if err != nil {
			t.Fatal(err)
		}
		defer trainer.Close()
		before := weights(g)
		set := blobs(2, 1)
		b, err := data.Collate([]data.Sample{at(t, set, 0), at(t, set, 1)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = trainer.Step(context.Background(), b); err == nil || !strings.Contains(err.Error(), "edited the graph during the step") {
			t.Errorf("%d batches: %v", batches, err)
		}
		if !reflect.DeepEqual(weights(g), before) {
			t.Errorf("%d batches: parameters changed", batches)
		}
	}
}
