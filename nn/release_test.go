package nn_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"gorgonia.org/tensor"
)

// TestReleasedTwice: a result that is released twice, by two goroutines too, gives its memory back once: two later steps do not share it.
func TestReleasedTwice(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(layers.Linear{Out: 4}, e.Input("x", "float32[N,3]")))
	}); err != nil {
		t.Fatal(err)
	}
	step := func(x *tensor.Dense) *nn.StepResult {
		t.Helper()
		s, err := g.Step(t.Context(), nn.Feed{"x": x}, nn.StepOptions{Want: g.Outputs()})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := step(nntest.Ramp(2, 3))
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(first.Release)
	}
	wait.Wait()
	a := step(nntest.Ramp(2, 3))
	kept := slices.Clone(dtype.Bytes(a.Values[0].(*tensor.Dense)))
	b := step(dtype.New(dtype.Float32, 2, 3))
	if !slices.Equal(dtype.Bytes(a.Values[0].(*tensor.Dense)), kept) {
		t.Error("two results share memory")
	}
	a.Release()
	b.Release()
}
