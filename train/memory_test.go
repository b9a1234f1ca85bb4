package train_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/budget/budgettest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// wide returns a network of one layer with weights of 4 MB, and samples for it.
func wide(t *testing.T) (*nn.Graph, data.Dataset[data.Sample]) {
	t.Helper()
	g := nn.New("wide")
	if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Apply(layers.Linear{Out: 1024}, e.Input("x", "float32[N,1024]"))) }); err != nil {
		t.Fatal(err)
	}
	x, y := dtype.New(dtype.Float32, 8, 1024), dtype.New(dtype.Float32, 8, 1024)
	for i := range x.Float32s() {
		x.Float32s()[i], y.Float32s()[i] = float32(i%7)/7, float32(i%5)/5
	}
	set, err := data.Tensors(x, y)
	if err != nil {
		t.Fatal(err)
	}
	return g, set
}

// ownRule is a rule of another package, with a state.
type ownRule struct{}

func (ownRule) Init(w *tensor.Dense) ([]optim.Slot, error) {
	return []optim.Slot{{Name: "own", Data: w.Clone().(*tensor.Dense), Axes: []int{0, 1}[:w.Dims()]}}, nil
}

func (ownRule) Step(w, grad *tensor.Dense, s []optim.Slot, h optim.Hyper) error { return nil }

// TestTrainingCharged: whatever a run keeps beside the weights is charged to the memory budget: compared are what Go's heap holds in the second
// epoch and what is charged then. What does not fit is an error that names it.
func TestTrainingCharged(t *testing.T) {
	if testing.Short() {
		t.Skip("measures the heap")
	}
	const weights = 4 << 20
	plain := train.Config{Loss: train.MSE{}, Rule: optim.SGD{LR: 0.01}, Batch: 4, Epochs: 2, Log: train.Quiet, Whole: true}
	configs := map[string]struct {
		keeps int64 // copies of the weights
		fits  int64 // how many copies are one too many for the limit: a step takes one
		what  string
		set   func(c *train.Config)
	}{
		"momentum":                {1, 1, "momentum_buffer of a weight of shape", func(c *train.Config) { c.Rule = optim.SGD{LR: 0.01, Momentum: 0.9} }},
		"adam":                    {2, 2, "exp_avg_sq of a weight of shape", func(c *train.Config) { c.Rule = optim.AdamW{} }},
		"average":                 {1, 1, "linear1.weight", func(c *train.Config) { c.EMA = 0.9 }},
		"accumulation":            {1, 2, "linear1.weight", func(c *train.Config) { c.Accumulate = 2 }},
		"the best":                {1, 2, "", func(c *train.Config) { c.RestoreBest = true }},
		"rule of another package": {1, 1, "linear1.weight", func(c *train.Config) { c.Rule = ownRule{} }},
	}
	measure := func(set func(c *train.Config)) (heap, charged int64) {
		g, s := wide(t)
		c := plain
		set(&c)
		c.Observe = func(e train.Event) {
			if e.Kind != train.Finished || e.Epoch != 2 {
				return
			}
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap, charged = int64(m.HeapAlloc), budget.Default()-budget.LeftCollected()
		}
		if _, err := train.Fit(context.Background(), g, c, s, s); err != nil {
			t.Fatal(err)
		}
		return heap, charged
	}
	heap, charged := measure(func(*train.Config) {})
	for name, c := range configs {
		t.Run(name, func(t *testing.T) {
			h, b := measure(c.set)
			if h-heap < c.keeps*weights*9/10 || b-charged < (h-heap)*9/10 {
				t.Errorf("%d bytes more on the heap, %d charged, want %d", h-heap, b-charged, c.keeps*weights)
			}
			g, s := wide(t)
			config := plain
			c.set(&config)
			nn.LimitMemory((1+c.fits)*weights - 1<<20) // the weights count, too
			defer nn.LimitMemory(0)
			_, err := train.Fit(context.Background(), g, config, s, s)
			if full := (*budget.Error)(nil); !errors.As(err, &full) || !strings.Contains(err.Error(), c.what) {
				t.Error(err)
			}
		})
	}
}

// TestAnswersCharged: the answers of a teacher are charged while they are kept, and not kept if they would take half of what is left.
func TestAnswersCharged(t *testing.T) {
	teacher, set := wide(t)
	const size = 4 * 1024 // of an answer
	many, err := train.Taught(data.Map(data.Of(make([]int, 256)...), func(int, *rand.Rand) (data.Sample, error) { return set.At(0, nil) }), teacher, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := many.At(0, nil); err != nil {
		t.Fatal(err)
	}
	defer budget.Limit(0)
	before := budgettest.Used()
	for _, c := range []struct {
		left, least, most int64
	}{{64 << 10, 0, 0}, {budget.Default(), 255 * size, 300 * size}} {
		budget.Limit(before + c.left)
		for i := range many.Len() {
			if s, err := many.At(i, nil); err != nil || len(s.Y) != 2 {
				t.Fatal(s, err)
			}
		}
		if got := budgettest.Used() - before; got < c.least || got > c.most {
			t.Errorf("%d bytes left: %d answers of %d bytes are charged %d", c.left, many.Len(), size, got)
		}
	}
	runtime.KeepAlive(many)
}
