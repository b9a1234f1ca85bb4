package step_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/step"
	"gorgonia.org/tensor"
)

// values are tensors by name.
type values map[string]*tensor.Dense

// runner runs a model: graft's engine does, or ONNX Runtime.
type runner func(g *nn.Graph, in values) (values, error)

func engine(g *nn.Graph, in values) (values, error) {
	feed := nn.Feed{}
	for name, d := range in {
		feed[name] = d
	}
	out, err := g.Eval(context.Background(), feed)
	list := values{}
	for name, v := range out {
		list[name], _ = v.(*tensor.Dense)
	}
	return list, err
}

func runtime(r *oracle.Runtime) runner {
	return func(g *nn.Graph, in values) (values, error) {
		var file bytes.Buffer
		if err := onnxio.Write(&file, g); err != nil {
			return nil, err
		}
		feed := map[string]oracle.Tensor{}
		for name, d := range in {
			feed[name] = oracle.Tensor{DType: dtype.Of(d.Dtype()).String(), Shape: append([]int{}, d.Shape()...), Data: dtype.Bytes(d)}
		}
		out, err := r.Run(file.Bytes(), feed)
		if err != nil {
			return nil, err
		}
		list := values{}
		for name, x := range out {
			t, err := dtype.Parse(x.DType)
			if err != nil {
				return nil, err
			}
			d := dtype.New(t, x.Shape...)
			copy(dtype.Bytes(d), x.Data)
			list[name] = d
		}
		return list, nil
	}
}

// model returns a network of layers on an input of the given type.
func model(t *testing.T, in string, layers ...nn.Layer) *nn.Graph {
	t.Helper()
	g := nn.New("net")
	err := g.Edit(func(e *nn.Edit) {
		e.Seed(7)
		e.Output("scores", e.Apply(nn.Sequential(layers), e.Input("x", in)))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func normal(r *rand.Rand, shape ...int) *tensor.Dense {
	d := dtype.New(dtype.Float32, shape...)
	for i := range dtype.Slice[float32](d) {
		dtype.Slice[float32](d)[i] = float32(r.NormFloat64())
	}
	return d
}

func classes(r *rand.Rand, n, count int) *tensor.Dense {
	d := dtype.New(dtype.Int64, n)
	for i := range dtype.Slice[int64](d) {
		dtype.Slice[int64](d)[i] = int64(r.IntN(count))
	}
	return d
}

func batches(n int, sample func(r *rand.Rand) data.Sample) []data.Sample {
	r := rand.New(rand.NewPCG(1, 2))
	list := make([]data.Sample, n)
	for i := range list {
		list[i] = sample(r)
	}
	return list
}

// follow exports the step of g, trains by it and with the trainer, and compares losses and parameters.
func follow(t *testing.T, g *nn.Graph, x step.Exporter, batches []data.Sample, run runner, tolerance float64) {
	t.Helper()
	s, err := x.Export(g)
	if err != nil {
		t.Fatal(err)
	}
	g = nntest.Clone(t, g)
	c := x.Config
	c.Whole, c.Log = true, train.Quiet
	trainer, err := train.New(g, c)
	if err != nil {
		t.Fatal(err)
	}
	state, err := run(s.Start, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range batches {
		rate := 1.0
		if c.Schedule != nil {
			rate = c.Schedule.At(i/max(c.Accumulate, 1), 0)
		}
		in := values{step.StepInput: scalar(int64(i)), step.RateInput: scalar(float32(rate))}
		if s.Seeded {
			in[step.SeedInput] = scalar(int64(c.Seed))
		}
		for _, v := range s.Variables {
			in[v.Name] = state[v.Name]
		}
		for k, d := range append(append([]*tensor.Dense{}, b.X...), b.Y...) {
			in[s.Batch[k]] = d
		}
		out, err := run(s.Graph, in)
		if err != nil {
			t.Fatal(err)
		}
		info, err := trainer.Step(context.Background(), b)
		if err != nil {
			t.Fatal(err)
		}
		loss, _ := dtype.Float64s(out[step.LossName])
		if math.Abs(loss[0]-info.Loss) > tolerance*(1+math.Abs(info.Loss)) {
			t.Fatalf("step %d: loss %v, the trainer's is %v", i, loss[0], info.Loss)
		}
		for _, v := range s.Variables {
			state[v.Name] = out[v.Next]
		}
	}
	compared := 0
	for p := range g.Params() {
		if d := state[p.Name()]; d != nil {
			compared++
			if worst := distance(d, p.Data()); !(worst <= tolerance) {
				t.Errorf("%s differs by %v", p.Name(), worst)
			}
		}
	}
	if compared == 0 {
		t.Error("no parameter was compared")
	}
}

// distance returns the largest difference, relative to elements above 1.
func distance(a, b *tensor.Dense) float64 {
	x, err := dtype.Float64s(a)
	y, err2 := dtype.Float64s(b)
	if err != nil || err2 != nil || len(x) != len(y) {
		return math.Inf(1)
	}
	worst := 0.0
	for i := range x {
		if d := math.Abs(x[i]-y[i]) / (1 + math.Abs(y[i])); d > worst || d != d {
			worst = d
		}
	}
	return worst
}

func scalar[T any](x T) *tensor.Dense {
	d, err := dtype.FromSlice([]T{x})
	if err != nil {
		panic(err)
	}
	return d
}

var rules = map[string]optim.Rule{
	"sgd": optim.SGD{LR: 0.1}, "momentum": optim.SGD{LR: 0.1, Momentum: 0.9, Dampening: 0.1, WeightDecay: 0.01},
	"nesterov": optim.SGD{LR: 0.1, Momentum: 0.9, Nesterov: true}, "adam": optim.Adam{LR: 0.01, WeightDecay: 0.01},
	"adamw": optim.AdamW{LR: 0.01}, "amsgrad": optim.Adam{LR: 0.01, AMSGrad: true}, "nadam": optim.NAdam{}, "radam": optim.RAdam{LR: 0.01},
	"lamb": optim.LAMB{LR: 0.01}, "lion": optim.Lion{LR: 0.001}, "adagrad": optim.Adagrad{LRDecay: 0.1, Initial: 0.1},
	"rmsprop": optim.RMSprop{LR: 0.001}, "centered": optim.RMSprop{LR: 0.001, Momentum: 0.9, Centered: true}, "adafactor": optim.Adafactor{},
	"adadelta": optim.Adadelta{LR: 0.5, WeightDecay: 0.01}, "adamax": optim.Adamax{LR: 0.01, WeightDecay: 0.01},
	"amsgraddecay": optim.Adam{LR: 0.01, AMSGrad: true, WeightDecay: 0.1}, "adafactorlarge": optim.Adafactor{LR: 0.5},
	"chain": optim.Chain{optim.ClipValue{Limit: 0.01}, optim.Decay{L1: 0.01, L2: 0.1}, optim.SGD{LR: 0.1}},
}

// each tests with graft's engine and, where it is installed, with ONNX Runtime.
func each(t *testing.T, f func(t *testing.T, run runner)) {
	t.Run("graft", func(t *testing.T) { f(t, engine) })
	t.Run("onnxruntime", func(t *testing.T) { f(t, runtime(oracle.ORT(t))) })
}
