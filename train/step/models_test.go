package step_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/step"
	"gorgonia.org/tensor"
)

// TestModels: networks that PyTorch exported train by their exported step, in ONNX Runtime, as with the trainer.
func TestModels(t *testing.T) {
	run := runtime(oracle.ORT(t))
	files, err := filepath.Glob(filepath.Join(oracle.Anchors(t), "*.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(oracle.Shared(t, "models"), "*", "*.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, more...) {
		name := filepath.Base(filepath.Dir(file))
		if name != "anchors" {
			t.Run(name, func(t *testing.T) { trainModel(t, file, run) })
		} else {
			t.Run(filepath.Base(file), func(t *testing.T) { trainModel(t, file, run) })
		}
	}
}

// onlyType is the type of the first input where a model works at one length only.
var onlyType = map[string]string{"silero-vad-16k": "float32[batch,576]"}

func trainModel(t *testing.T, file string, run runner) {
	g, err := onnxio.Load(file)
	if os.IsNotExist(err) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = g.Edit(func(e *nn.Edit) { e.FreeBatch("N") }) // a batch that cannot be freed stays
	if typ := onlyType[filepath.Base(filepath.Dir(file))]; typ != "" {
		if err := g.Edit(func(e *nn.Edit) { e.Input(e.Inputs()[0].Name(), typ) }); err != nil {
			t.Fatal(err)
		}
	}
	x := step.Exporter{Config: train.Config{Rule: optim.SGD{LR: 1e-3, Momentum: 0.9}, ClipNorm: 1, Seed: 5}}
	if _, err := x.Export(g); err != nil || g.Outputs()[0].Type().Shape[1].Size == 1 {
		x.Config.Loss = train.MSE{}
		if _, other := x.Export(g); other != nil {
			t.Skipf("%v; %v", err, other)
		}
	}
	steps, n := 20, 0
	if parameters(g) > 500_000 || g.Inputs()[0].Type().Rank() == 4 && g.Inputs()[0].Type().Shape[3].Size > 200 {
		steps = 3 // that take a second or more each
	}
	follow(t, g, x, batches(steps, func(r *rand.Rand) data.Sample {
		size := 3 + n%2*2 // that no export saw
		n++
		return sampleOf(t, r, g, size, x.Config.Loss != nil)
	}), run, 2e-3)
}

func parameters(g *nn.Graph) int {
	n := 0
	for p := range g.Params() {
		n += p.Size()
	}
	return n
}

// sampleOf returns a random batch, with numbers or classes for targets.
func sampleOf(t *testing.T, r *rand.Rand, g *nn.Graph, size int, numbers bool) data.Sample {
	var s data.Sample
	shapeOf := func(v *nn.Value) []int {
		var shape []int
		for _, d := range v.Type().Shape {
			if d.Size < 0 {
				d.Size = size
			}
			shape = append(shape, d.Size)
		}
		return shape
	}
	random := func(t *testing.T, typ op.DType, below int, shape []int) *tensor.Dense {
		if typ == dtype.Float32 {
			return normal(r, shape...)
		}
		list := make([]int, product(shape))
		for i := range list {
			list[i] = r.IntN(below)
		}
		d, err := dtype.FromInts(typ, list, shape...)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, v := range g.Inputs() {
		s.X = append(s.X, random(t, v.Type().DType, 2, shapeOf(v)))
	}
	shape := shapeOf(g.Outputs()[0])
	if numbers {
		s.Y = []*tensor.Dense{normal(r, shape...)}
		return s
	}
	count := shape[1]
	shape = append(shape[:1], shape[2:]...)
	for len(shape) > 1 && shape[len(shape)-1] == 1 {
		shape = shape[:len(shape)-1]
	}
	s.Y = []*tensor.Dense{random(t, dtype.Int64, count, shape)}
	return s
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
