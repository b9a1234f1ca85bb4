package step_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/step"
	"gorgonia.org/tensor"
)

// beside is a runtime that is graft's engine again, behind the interface of devices.
type beside struct{ alive *int }

type kept struct {
	d     *tensor.Dense
	alive *int
}

func (k *kept) Release() {
	if k.d != nil {
		*k.alive--
	}
	k.d = nil
}

func (b beside) Begin(job train.Job) (train.Session, error) { return step.Begin(b, job) }

func (b beside) Load(g *nn.Graph) (step.Program, error) { return loaded{b, g}, nil }

func (b beside) Put(d *tensor.Dense) (step.DeviceTensor, error) {
	*b.alive++
	return &kept{dtype.Clone(d), b.alive}, nil
}

func (b beside) Get(v step.DeviceTensor) (*tensor.Dense, error) {
	k := v.(*kept)
	if k.d == nil {
		return nil, errors.New("a released value is read")
	}
	return dtype.Clone(k.d), nil
}

type loaded struct {
	beside
	g *nn.Graph
}

func (l loaded) Close() error { return nil }

func (l loaded) Run(ctx context.Context, given nn.Feed, has map[string]step.DeviceTensor, stay func(string) bool) (nn.Feed, map[string]step.DeviceTensor, error) {
	feed := nn.Feed{}
	for name, v := range given {
		feed[name] = v
	}
	for name, v := range has {
		d, err := l.Get(v)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		feed[name] = d
	}
	out, err := l.g.Eval(ctx, feed)
	if err != nil {
		return nil, nil, err
	}
	back, on := nn.Feed{}, map[string]step.DeviceTensor{}
	for name, v := range out {
		if d, ok := v.(*tensor.Dense); ok && stay(name) {
			*l.alive++
			on[name] = &kept{dtype.Clone(d), l.alive}
		} else {
			back[name] = v
		}
	}
	return back, on, nil
}

// small returns a network with a normalization, which has statistics, and dropout.
func small(t *testing.T) *nn.Graph {
	return model(t, "float32[N,4]", layers.Linear{Out: 6}, layers.ReLU{}, layers.BatchNorm{}, layers.Dropout{P: 0.3}, layers.Linear{Out: 3})
}

// points are samples of three classes.
func points(t *testing.T, n int) data.Dataset[data.Sample] {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	x, y := normal(r, n, 4), dtype.New(dtype.Int64, n)
	for i := range n {
		row := dtype.Slice[float32](x)[4*i:]
		if row[0]+row[1] > 0 {
			dtype.Slice[int64](y)[i] = 1
		} else if row[2] > 0.5 {
			dtype.Slice[int64](y)[i] = 2
		}
	}
	s, err := data.Tensors(x, y)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The trainer with a runtime does what it does with the engine: weights, statistics, averages and state, history, callbacks.
func TestRuntime(t *testing.T) {
	for name, c := range map[string]train.Config{
		"sgd":        {Rule: optim.SGD{LR: 0.1, Momentum: 0.9}},
		"adamw":      {Rule: optim.AdamW{LR: 0.01}, Schedule: optim.CosineLR{}},
		"clip":       {Rule: optim.SGD{LR: 0.1}, ClipNorm: 0.1},
		"accumulate": {Rule: optim.AdamW{LR: 0.01}, Accumulate: 3, ClipNorm: 1},
		"parts":      {Rule: optim.AdamW{LR: 0.01}, MicroBatch: 3, ClipNorm: 1},
		"average":    {Rule: optim.RMSprop{LR: 0.01}, EMA: 0.9, Patience: 2, RestoreBest: true},
		"weights":    {Rule: optim.Adam{LR: 0.01}, Loss: train.CrossEntropy{ClassWeights: []float64{1, 2, 0.5}}, Accumulate: 2},
		"sum":        {Rule: optim.SGD{LR: 0.01}, Loss: train.CrossEntropy{Sum: true}, Accumulate: 2},
		"gradients": {Rule: optim.SGD{LR: 0.1}, Accumulate: 2, OnGradient: func(p *nn.Param, g *tensor.Dense) error {
			for i := range dtype.Slice[float32](g) {
				dtype.Slice[float32](g)[i] *= 0.5
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c.Epochs, c.Batch, c.Seed, c.Log = 3, 8, 3, train.Quiet
			a, b := small(t), small(t)
			if name == "clip" { // without statistics
				a, b = model(t, "float32[N,4]", layers.Linear{Out: 3}), model(t, "float32[N,4]", layers.Linear{Out: 3})
			}
			alive := 0
			want, err := train.Fit(t.Context(), a, c, points(t, 50), points(t, 20))
			if err != nil {
				t.Fatal(err)
			}
			c.Runtime = beside{&alive}
			got, err := train.Fit(t.Context(), b, c, points(t, 50), points(t, 20))
			if err != nil {
				t.Fatal(err)
			}
			if alive != 0 {
				t.Errorf("%d values are left on the device", alive)
			}
			for i := range want {
				if math.Abs(want[i].Loss-got[i].Loss) > 1e-4*max(1, want[i].Loss) || math.Abs(want[i].Norm-got[i].Norm) > 1e-3*max(1, want[i].Norm) || math.Abs(want[i].Val["loss"]-got[i].Val["loss"]) > 1e-4*max(1, want[i].Val["loss"]) {
					t.Errorf("epoch %d: %+v, with the engine %+v", i+1, got[i], want[i])
				}
			}
			sameWeights(t, b, a, 1e-4)
		})
	}
}

func sameWeights(t *testing.T, got, want *nn.Graph, within float64) {
	t.Helper()
	for p := range got.Params() {
		for q := range want.Params() {
			if q.Name() == p.Name() && p.Data() != nil {
				if d, err := (dtype.Tolerance{Atol: within, Rtol: within}).Compare(p.Data(), q.Data()); err != nil {
					t.Errorf("%s: %v (%v)", p.Name(), err, d)
				}
			}
		}
	}
}

// TestRuntimeDiverges checks that a step with an infinite result changes nothing and is reported; the trainer goes on.
func TestRuntimeDiverges(t *testing.T) {
	g := small(t)
	alive := 0
	tr, err := train.New(g, train.Config{Rule: optim.SGD{LR: 0.1}, Log: train.Quiet, Runtime: beside{&alive}})
	if err != nil {
		t.Fatal(err)
	}
	bad := data.Sample{X: []*tensor.Dense{dtype.New(dtype.Float32, 4, 4)}, Y: []*tensor.Dense{dtype.New(dtype.Int64, 4)}}
	dtype.Slice[float32](bad.X[0])[0] = float32(math.NaN())
	before := small(t)
	if _, err := tr.Step(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "loss is NaN") {
		t.Errorf("%v", err)
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	sameWeights(t, g, before, 0)
	if alive != 0 {
		t.Errorf("%d values are left", alive)
	}
}

// An edit while the device is ahead is refused; after Sync training goes on with the edited model.
func TestRuntimeEdits(t *testing.T) {
	g := small(t)
	alive := 0
	tr, err := train.New(g, train.Config{Rule: optim.AdamW{LR: 0.01}, Log: train.Quiet, Runtime: beside{&alive}})
	if err != nil {
		t.Fatal(err)
	}
	batch := data.Sample{X: []*tensor.Dense{dtype.New(dtype.Float32, 4, 4)}, Y: []*tensor.Dense{dtype.New(dtype.Int64, 4)}}
	for i := range dtype.Slice[float32](batch.X[0]) {
		dtype.Slice[float32](batch.X[0])[i] = float32(i%5) - 2
	}
	next := func() error { _, err := tr.Step(t.Context(), batch); return err }
	widen := func() {
		if err := g.Edit(func(e *nn.Edit) { e.Head(nn.Head{Classes: 4}) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := next(); err != nil {
		t.Fatal(err)
	}
	if err := tr.Sync(); err != nil {
		t.Fatal(err)
	}
	widen()
	if err := next(); err != nil {
		t.Fatal(err)
	}
	widen()
	if err := next(); err == nil || !strings.Contains(err.Error(), "call Trainer.Sync before") {
		t.Errorf("%v", err)
	}
}
