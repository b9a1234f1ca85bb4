package train

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// points are n samples of two numbers, which sum up to more or less than 0, or to their class.
func points(t *testing.T, n int) data.Dataset[data.Sample] {
	t.Helper()
	x, y := make([]float32, 2*n), make([]int64, n)
	for i := range n {
		y[i] = int64(i % 3)
		x[2*i], x[2*i+1] = float32(y[i])+float32(i%7)/10, float32(i%5)/10-float32(y[i]*y[i])
	}
	s, err := data.Tensors(of(t, x, n, 2), of(t, y, n))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPlanOfSamples checks the policy for given numbers of samples against values computed by hand.
func TestPlanOfSamples(t *testing.T) {
	for _, c := range []struct {
		n, validation int
		policy        Policy
		config        Config
		want          recipe
	}{
		{960, 0, FromScratch, Config{}, recipe{Batch: 16, Epochs: 25, Spread: 1}},                 // 60 batches
		{976, 49, FromScratch, Config{}, recipe{Batch: 32, Epochs: 48, Spread: 1}},                // 61 would be too many
		{2000, 50, FromScratch, Config{}, recipe{Batch: 64, Epochs: 46, Spread: 1, Patience: 15}}, // 32 batches
		{1999, 0, Full, Config{}, recipe{Batch: 64, Epochs: 46, Spread: 0.1, HoldStatistics: true}},
		{2000, 0, Full, Config{}, recipe{Batch: 64, Epochs: 46, Spread: 0.1}},
		{40, 60, FromScratch, Config{}, recipe{Batch: 16, Epochs: 100, Spread: 1, Patience: 33}},
		{40, 60, FromScratch, Config{Epochs: 6, Batch: 8, EMA: 0.5}, recipe{Batch: 8, Epochs: 6, Spread: 1, EMA: 0.5, Patience: 4}},
		{40, 0, FromScratch, Config{Loss: CrossEntropy{}, Epochs: 1}, recipe{Batch: 16, Epochs: 1, Spread: 1, EMA: 0.8, Smoothing: -1}},
	} {
		c.config.Log = Quiet
		g := layered(t)
		tune := &tuning{FineTuner: FineTuner{Policy: c.policy, Config: c.config}, g: g, fit: points(t, c.n), say: func(string) {}}
		if c.validation > 0 {
			tune.val = points(t, c.validation)
		}
		before := nntest.Weights(t, g)
		if err := tune.choose(context.Background()); err != nil {
			t.Fatal(err)
		}
		want := c.want
		want.Decay = 0.05
		if want.Smoothing == 0 {
			want.Smoothing = 0.1
		}
		want.Smoothing = max(want.Smoothing, 0)
		if want.EMA == 0 {
			want.EMA = 1 - 10/float64(want.Epochs*((c.n+want.Batch-1)/want.Batch))
		}
		got := tune.plan
		if c.policy == FromScratch && !(got.Rate >= 1e-4 && got.Rate <= 1e-2) || c.policy == Full && !(got.Rate >= 1e-4 && got.Rate <= 5e-4) {
			t.Errorf("%d samples: rate %v", c.n, got.Rate)
		}
		if got.Rate = 0; math.Abs(got.EMA-want.EMA) > 1e-12 || func() bool { got.EMA = want.EMA; return got.String() != want.String() }() || got.Patience != want.Patience {
			t.Errorf("%d samples: %+v, want %+v", c.n, got, want)
		}
		for p, d := range before {
			if !slices.Equal(p.Data().Float32s(), d.Float32s()) || p.Frozen() {
				t.Errorf("%s has changed", p.Name())
			}
		}
	}
}

// TestAlternatives checks the plans for a model that is cheap to train: one discriminative and three uniform ones,
// and those that start from the original weights.
func TestAlternatives(t *testing.T) {
	discriminative, uniform := recipe{Rate: 5e-4, Spread: 0.1, HoldStatistics: true}, recipe{Rate: 7, Spread: 1}
	rates := func(list []recipe) (r []float64, anew []bool) {
		for _, p := range list {
			r, anew = append(r, p.Rate), append(anew, p.Anew)
		}
		return r, anew
	}
	r, anew := rates((&tuning{}).alternatives(discriminative, uniform))
	if !slices.Equal(r, []float64{5e-4, 3e-4, 1e-3, 3e-3}) || slices.Contains(anew, true) {
		t.Error(r, anew)
	}
	r, anew = rates((&tuning{began: snapshot.Weights{}}).alternatives(discriminative, uniform))
	if !slices.Equal(r, []float64{5e-4, 1e-3, 1e-3, 3e-3, 3e-3}) || !slices.Equal(anew, []bool{false, true, false, false, true}) {
		t.Error(r, anew)
	}
}

// An average is completed from the weights where it is young, and only there.
func TestAverageBegins(t *testing.T) {
	p := zeros(t, 2)
	nan := float32(math.NaN())
	for _, young := range []bool{true, false} {
		s := &state{shape: []int{2}, typ: dtype.Float32, ema: of(t, []float32{nan, 3}, 2), young: young}
		s.begin(p)
		if got := s.ema.Float32s(); (got[0] == 0) != young || got[1] != 3 || s.young {
			t.Errorf("young %v: %v", young, got)
		}
	}
	(&state{shape: []int{2}, typ: dtype.Float32, young: true}).begin(p)
	other := &state{shape: []int{3}, typ: dtype.Float32, ema: of(t, []float32{nan, 3, 4}, 3), young: true}
	if other.begin(p); !other.young {
		t.Error("an average of another shape")
	}
}

// TestPrepareUnmeasured checks that without a measurement images are prepared as usual for the shape of the input.
func TestPrepareUnmeasured(t *testing.T) {
	g, base := layered(t), data.Preprocess{Size: 4}
	first := data.Presets(false)[0].Name
	two := nn.New("two")
	if err := two.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(layers.Linear{Out: 3}, e.Input("x", "float32[N,2]")))
		e.Output("z", e.Apply(layers.ReLU{}, e.Input("u", "float32[N,2]")))
	}); err != nil {
		t.Fatal(err)
	}
	img := []*tensor.Dense{dtype.New(dtype.Float32, 3, 8, 8)}
	for name, c := range map[string]struct {
		g      *nn.Graph
		images []*tensor.Dense
	}{"no images": {g, nil}, "two inputs": {two, img}, "nothing": {nn.New("none"), img}} {
		p, err := Prepare(context.Background(), c.g, base, c.images)
		if err != nil || p.Name != first || p.By != "shape" || !p.Guess || p.Size != 4 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// A place that cannot be made for events is an error.
func TestEventFileNowhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewEventFile(filepath.Join(file, "below")); err == nil || !strings.HasPrefix(err.Error(), "train: cannot create the folder for events: ") {
		t.Error(err)
	}
}
