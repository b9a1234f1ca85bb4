package train_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

// TestTwoUsers: while a goroutine is in a method of a trainer, all others return an error in another goroutine, which changes nothing;
// in the body of a loop over epochs, and in callbacks of the same goroutine, they may be called.
func TestTwoUsers(t *testing.T) {
	g := proportional(t)
	fit := lines(t, []float64{1, 2, 3, 4, 5, 6, 7, 8}, []float64{2, 4, 6, 8, 10, 12, 14, 16})
	path := filepath.Join(t.TempDir(), "state")
	var tr *train.Trainer
	elsewhere := func(want string) {
		t.Helper()
		var wait sync.WaitGroup
		for name, call := range map[string]func() error{
			"Step":     func() error { _, err := tr.Step(t.Context(), data.Sample{}); return err },
			"Flush":    tr.Flush,
			"Sync":     tr.Sync,
			"Close":    tr.Close,
			"Save":     func() error { return tr.Save(path) },
			"Restore":  func() error { return tr.Restore(path) },
			"Evaluate": func() error { _, err := tr.Evaluate(t.Context(), fit); return err },
			"Fit":      func() error { _, err := tr.Fit(t.Context(), fit, nil); return err },
			"Gradients": func() error {
				for _, err := range tr.Gradients(t.Context(), fit) {
					return err
				}
				return nil
			},
		} {
			if want == "" && name != "Save" && name != "Evaluate" {
				continue
			}
			wait.Go(func() {
				if err := call(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v", name, err)
				}
				_ = tr.History()
			})
			if want == "" {
				wait.Wait()
			}
		}
		wait.Wait()
	}
	steps := 0
	var err error
	tr, err = train.New(g, train.Config{Epochs: 2, Batch: 4, EMA: 0.5, Log: train.Quiet, OnStep: func(train.StepInfo) error {
		steps++
		elsewhere("another goroutine uses the Trainer")
		if _, err := tr.Evaluate(t.Context(), fit); err != nil {
			t.Error(err)
		}
		return tr.Save(path)
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range tr.Epochs(t.Context(), fit, fit) {
		if err != nil {
			t.Fatal(err)
		}
		elsewhere("")
	}
	if elsewhere(""); steps != 4 || len(tr.History()) != 2 {
		t.Error(steps, tr.History())
	}
}

// TestTwoTrainersOfOneGraph: while a goroutine trains a graph, another Trainer of it returns an error in another goroutine, and so does New; between the steps, and in the same
// goroutine, both may be used.
func TestTwoTrainersOfOneGraph(t *testing.T) {
	g := proportional(t)
	fit := lines(t, []float64{1, 2, 3, 4}, []float64{2, 4, 6, 8})
	c := train.Config{Batch: 4, Log: train.Quiet}
	second, err := train.New(g, c)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := func(want string) {
		t.Helper()
		var wait sync.WaitGroup
		for name, call := range map[string]func() error{
			"Step": func() error { _, err := second.Step(t.Context(), batch(t, fit)); return err },
			"New":  func() error { _, err := train.New(g, c); return err },
		} {
			wait.Go(func() {
				if err := call(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v", name, err)
				}
			})
			if want == "" {
				wait.Wait()
			}
		}
		wait.Wait()
	}
	inside := c
	inside.OnStep = func(train.StepInfo) error {
		elsewhere("or another Trainer of its graph")
		_, err := second.Step(t.Context(), batch(t, fit))
		return err
	}
	first, err := train.New(g, inside)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Fit(t.Context(), fit, nil); err != nil {
		t.Error(err)
	}
	elsewhere("")
	var group sync.WaitGroup // without callbacks: each step of both is whole or refused
	for _, tr := range []*train.Trainer{second, second, first} {
		group.Go(func() {
			for range 20 {
				if _, err := tr.Step(t.Context(), batch(t, fit)); err != nil && !strings.Contains(err.Error(), "another goroutine uses") {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}
