package step_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/step"
	"gorgonia.org/tensor"
)

// reread returns the model as it comes out of a file.
func reread(t *testing.T, g *nn.Graph) *nn.Graph {
	t.Helper()
	var b bytes.Buffer
	if err := onnxio.Write(&b, g); err != nil {
		t.Fatal(err)
	}
	again, err := onnxio.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// trainable is g with its step as training_info, as it comes out of a file.
func trainable(t *testing.T, g *nn.Graph, x step.Exporter) *nn.Graph {
	t.Helper()
	g = nntest.Clone(t, g)
	info, err := x.TrainingInfo(g)
	if err != nil {
		t.Fatal(err)
	}
	if err := onnxio.SetTrainingInfo(g, []onnxio.Training{info}); err != nil {
		t.Fatal(err)
	}
	return reread(t, g)
}

// operators returns the types of nodes in a model's training, with their domain.
func operators(t *testing.T, g *nn.Graph) map[string]bool {
	t.Helper()
	list, err := onnxio.TrainingInfo(g)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, x := range list {
		for n := range x.Algorithm.Nodes() {
			seen[strings.TrimPrefix(n.Domain()+"."+n.Type(), ".")] = true
		}
	}
	return seen
}

// TestStored: what a file states in training_info trains as the trainer does, with every rule, with what training computes
// differently, and goes on from where a file was saved.
func TestStored(t *testing.T) {
	plain := []nn.Layer{layers.Linear{Out: 8}, layers.ReLU{}, layers.Linear{Out: 3}}
	for name, c := range map[string]struct {
		config train.Config
		layers []nn.Layer
		has    string
		within float64
	}{
		"sgd":         {train.Config{Rule: optim.SGD{LR: 0.1}}, plain, "Gradient", 2e-5},
		"momentum":    {train.Config{Rule: optim.SGD{LR: 0.1, Momentum: 0.9, Dampening: 0.1, WeightDecay: 0.01}}, plain, "Momentum", 2e-5},
		"nesterov":    {train.Config{Rule: optim.SGD{LR: 0.1, Momentum: 0.9, Nesterov: true}, ClipNorm: 1}, plain, "Momentum", 2e-5},
		"adam":        {train.Config{Rule: optim.Adam{LR: 0.01, WeightDecay: 0.01}}, plain, "Adam", 1e-4},
		"adamw":       {train.Config{Rule: optim.AdamW{LR: 0.01}}, plain, "Gradient", 2e-5},
		"adagrad":     {train.Config{Rule: optim.Adagrad{LRDecay: 0.1, Initial: 0.1}}, plain, "Adagrad", 2e-5},
		"groups":      {train.Config{Rule: optim.SGD{LR: 0.1, Momentum: 0.9}, Groups: []train.ParamGroup{{Rank: 1, Rate: 0.5}}}, plain, "Momentum", 2e-5},
		"accumulated": {train.Config{Rule: optim.SGD{LR: 0.1, Momentum: 0.9}, Accumulate: 2}, plain, "Gradient", 2e-5},
		"adadelta":    {train.Config{Rule: optim.Adadelta{LR: 0.5}, ClipNorm: 1, Accumulate: 2}, plain, "Gradient", 2e-5},
		"adafactor":   {train.Config{Rule: optim.Adafactor{}, ClipNorm: 1}, plain, "Gradient", 2e-5},
		"adamax":      {train.Config{Rule: optim.Adamax{LR: 0.01}, ClipNorm: 1}, plain, "Gradient", 2e-5},
		"lion":        {train.Config{Rule: optim.Lion{LR: 0.001}, Accumulate: 3}, plain, "Gradient", 2e-5},
		"nadam":       {train.Config{Rule: optim.NAdam{}}, plain, "Gradient", 2e-5},
		"radam":       {train.Config{Rule: optim.RAdam{LR: 0.01}, Accumulate: 2}, plain, "Gradient", 2e-5},
		"rmsprop":     {train.Config{Rule: optim.RMSprop{LR: 0.001, Momentum: 0.9, Centered: true}, ClipNorm: 1}, plain, "Gradient", 2e-5},
		"lamb":        {train.Config{Rule: optim.LAMB{LR: 0.01}}, plain, "Gradient", 2e-5},
		"norm":        {train.Config{Rule: optim.SGD{LR: 0.05, Momentum: 0.9}}, []nn.Layer{layers.Linear{Out: 8}, layers.BatchNorm{}, layers.Tanh{}, layers.Dropout{P: 0.3}, layers.Linear{Out: 3}}, "BitShift", 1e-4},
	} {
		t.Run(name, func(t *testing.T) {
			g := model(t, "float32[N,6]", c.layers...)
			stored := trainable(t, g, step.Exporter{Config: c.config})
			seen := operators(t, stored)
			if !seen[c.has] && !seen["ai.onnx.preview.training."+c.has] {
				t.Errorf("no %s among %v", c.has, seen)
			}
			c.config.Whole, c.config.Log = true, train.Quiet
			trainer, err := train.New(g, c.config)
			if err != nil {
				t.Fatal(err)
			}
			s, err := step.NewStored(stored)
			if err != nil {
				t.Fatal(err)
			}
			for i, b := range batches(6, func(r *rand.Rand) data.Sample {
				n := 3 + r.IntN(5)
				return data.Sample{X: []*tensor.Dense{normal(r, n, 6)}, Y: []*tensor.Dense{classes(r, n, 3)}}
			}) {
				if i == 3 { // through a file
					if err := s.Keep(); err != nil {
						t.Fatal(err)
					}
					stored = reread(t, stored)
					if s, err = step.NewStored(stored); err != nil {
						t.Fatal(err)
					}
				}
				out, err := s.Step(context.Background(), nn.Feed{"x": b.X[0], "target": b.Y[0]})
				if err != nil {
					t.Fatal(err)
				}
				info, err := trainer.Step(context.Background(), b)
				if err != nil {
					t.Fatal(err)
				}
				loss, err := dtype.Float64s(out[step.LossName].(*tensor.Dense))
				if err != nil || math.Abs(loss[0]-info.Loss) > c.within*(1+info.Loss) {
					t.Fatalf("step %d: loss %v, %v, the trainer's is %v", i, loss, err, info.Loss)
				}
			}
			if err := s.Keep(); err != nil {
				t.Fatal(err)
			}
			for p := range g.Params() {
				v, err := stored.Value(p.Name())
				if err != nil {
					t.Fatal(err)
				}
				if d := distance(v.Param().Data(), p.Data()); !(d <= c.within) {
					t.Errorf("%s differs by %v", p.Name(), d)
				}
			}
		})
	}
}

// TestStoredRefusals: files that state no training that can be executed.
func TestStoredRefusals(t *testing.T) {
	g := model(t, "float32[N,6]", layers.Linear{Out: 3})
	if _, err := step.NewStored(g); err == nil || !strings.Contains(err.Error(), "the model's file states no training: it has no training_info") {
		t.Error(err)
	}
	with := trainable(t, g, step.Exporter{})
	list, err := onnxio.TrainingInfo(with)
	if err != nil {
		t.Fatal(err)
	}
	list[0].Update = nil
	if err := onnxio.SetTrainingInfo(with, list); err != nil {
		t.Fatal(err)
	}
	if _, err := step.NewStored(with); err == nil || !strings.Contains(err.Error(), "entry 0: update_binding is empty: the algorithm changes nothing") {
		t.Error(err)
	}
	s, err := step.NewStored(trainable(t, g, step.Exporter{}))
	if err != nil {
		t.Fatal(err)
	}
	if any, err := s.Initialize(context.Background()); any || err != nil {
		t.Error(any, err)
	}
	if _, err := s.Step(context.Background(), nn.Feed{}); err == nil || !strings.Contains(err.Error(), "training_info, entry 0: run: ") {
		t.Error(err)
	}
	bad := model(t, "float32[N,6]", layers.Linear{Out: 3})
	if err := bad.Edit(func(e *nn.Edit) { e.RenameValue(e.Value("linear1.weight"), "rate") }); err != nil {
		t.Fatal(err)
	}
	if _, err := (step.Exporter{}).TrainingInfo(bad); err == nil || !strings.Contains(err.Error(), `a value of the model is called "rate", as one of the step is: rename it first`) {
		t.Error(err)
	}
}

// TestStoredOfPython: a file of onnx's own helper functions is executed: as PyTorch's SGD with momentum does it.
func TestStoredOfPython(t *testing.T) {
	dir := t.TempDir()
	oracle.Torch(t, filepath.Join("..", "..", "onnxio", "testdata", "traininginfo.py"), "make", filepath.Join(dir, "m.onnx"))
	oracle.Torch(t, filepath.Join("testdata", "momentum.py"), filepath.Join(dir, "want.npz"))
	want, err := oracle.NPZ(filepath.Join(dir, "want.npz"))
	if err != nil {
		t.Fatal(err)
	}
	g, err := onnxio.Load(filepath.Join(dir, "m.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := step.NewStored(g)
	if err != nil {
		t.Fatal(err)
	}
	dense := func(name string) *tensor.Dense {
		d := dtype.New(dtype.Float32, want[name].Shape...)
		copy(dtype.Bytes(d), want[name].Data)
		return d
	}
	losses, err := want["loss"].Float64s()
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range losses {
		out, err := s.Step(context.Background(), nn.Feed{"X": dense("X"), "T": dense("T")})
		if err != nil {
			t.Fatal(err)
		}
		got, err := dtype.Float64s(out["loss"].(*tensor.Dense))
		if err != nil || math.Abs(got[0]-l) > 1e-5 {
			t.Errorf("step %d: loss %v, %v, PyTorch's is %v", i, got, err, l)
		}
	}
	if err := s.Keep(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"W", "B"} {
		v, err := g.Value(name)
		if err != nil {
			t.Fatal(err)
		}
		if d := distance(v.Param().Data(), dense(name)); !(d < 1e-5) {
			t.Errorf("%s differs by %v", name, d)
		}
	}
	if any, err := s.Initialize(context.Background()); !any || err != nil {
		t.Fatal(any, err)
	}
	if err := s.Keep(); err != nil {
		t.Fatal(err)
	}
	v, err := g.Value("W")
	if err != nil {
		t.Fatal(err)
	}
	if d := distance(v.Param().Data(), dense("W")); d < 1e-3 {
		t.Error("the initialization leaves W as it was")
	}
}

// TestStoredOfHelpers: a training that reads no data, and the operators Adam and Adagrad, of files that onnx's helper functions
// made: what NumPy makes of them, also after an edit and a file in between.
func TestStoredOfHelpers(t *testing.T) {
	dir := t.TempDir()
	oracle.Torch(t, filepath.Join("testdata", "simpletraining.py"), dir)
	want, err := oracle.NPZ(filepath.Join(dir, "want.npz"))
	if err != nil {
		t.Fatal(err)
	}
	dense := func(name string) *tensor.Dense {
		d := dtype.New(dtype.Float32, want[name].Shape...)
		copy(dtype.Bytes(d), want[name].Data)
		return d
	}
	for name, c := range map[string]struct {
		changed string
		feed    nn.Feed
	}{
		"power":   {"B", nn.Feed{}},
		"adam":    {"W", nn.Feed{"x": dense("adam.x"), "T": dense("adam.T")}},
		"adagrad": {"W", nn.Feed{"x": dense("adagrad.x"), "T": dense("adagrad.T")}},
	} {
		g, err := onnxio.Load(filepath.Join(dir, name+".onnx"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := step.NewStored(g)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if i == 1 {
				if err := s.Keep(); err != nil {
					t.Fatal(err)
				}
				err := g.Edit(func(e *nn.Edit) {
					e.RenameValue(e.Value(c.changed), "renamed")
					e.Anchor(e.Outputs()[0], nn.Annotations{"stage": 1})
				})
				if err != nil {
					t.Fatal(err)
				}
				g = reread(t, g)
				if s, err = step.NewStored(g); err != nil {
					t.Fatal(name, err)
				}
			}
			if _, err := s.Step(context.Background(), c.feed); err != nil {
				t.Fatal(name, err)
			}
		}
		if err := s.Keep(); err != nil {
			t.Fatal(err)
		}
		v, err := g.Value("renamed")
		if err != nil {
			t.Fatal(err)
		}
		if d := distance(v.Param().Data(), dense(name)); !(d < 1e-5) {
			t.Errorf("%s differs by %v from NumPy's", name, d)
		}
	}
}
