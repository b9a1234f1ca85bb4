package step_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
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
	g = g.Clone()
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
		in := values{step.StepInput: scalar(int64(i)), step.RateInput: scalar(float32(1))}
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

// TestRules: a network of dense layers follows the trainer by every rule, with batches of sizes that the export never saw.
func TestRules(t *testing.T) {
	each(t, func(t *testing.T, run runner) {
		for name, rule := range rules {
			t.Run(name, func(t *testing.T) {
				g := model(t, "float32[N,6]", layers.Linear{Out: 8}, layers.ReLU{}, layers.Linear{Out: 3})
				x := step.Exporter{Config: train.Config{Rule: rule, ClipNorm: 1}}
				follow(t, g, x, batches(6, func(r *rand.Rand) data.Sample {
					n := 3 + r.IntN(5)
					return data.Sample{X: []*tensor.Dense{normal(r, n, 6)}, Y: []*tensor.Dense{classes(r, n, 3)}}
				}), run, 2e-5)
			})
		}
	})
}

// TestScalarParameter: a parameter without axes, of float32 and of float64, keeps its shape beside slots that are one number.
func TestScalarParameter(t *testing.T) {
	for _, typ := range []dtype.DType{dtype.Float32, dtype.Float64} {
		for _, shape := range [][]int{nil, {1}} {
			g := nn.New("net")
			if err := g.Edit(func(e *nn.Edit) {
				x := e.Input("x", typ.String()+"[N,3]")
				gain := e.ParamOf("gain", typ, initial.Full{Value: 0.5}, shape...)
				e.SetRole(gain, nn.Weight)
				e.Output("y", e.Node(op.Plain("Mul"), x, gain).Out(0))
			}); err != nil {
				t.Fatal(err)
			}
			x := step.Exporter{Config: train.Config{Loss: train.MSE{}, Rule: optim.NAdam{LR: 0.1}}}
			follow(t, g, x, batches(3, func(r *rand.Rand) data.Sample {
				in, err := dtype.FromFloats(typ, []float64{r.NormFloat64(), 1, 2, 3, 4, 5}, 2, 3)
				if err != nil {
					t.Fatal(err)
				}
				return data.Sample{X: []*tensor.Dense{in}, Y: []*tensor.Dense{in}}
			}), engine, 1e-6)
		}
	}
}

// TestAccumulate: batches that make one update together count by their samples, or by the labels that count.
func TestAccumulate(t *testing.T) {
	ignore := 1
	each(t, func(t *testing.T, run runner) {
		for name, loss := range map[string]train.Loss{
			"mean": nil, "weighted": train.CrossEntropy{ClassWeights: []float64{1, 2, 0.5}, IgnoreIndex: &ignore}, "sum": train.CrossEntropy{Sum: true},
			"smoothed": train.CrossEntropy{LabelSmoothing: 0.1},
		} {
			t.Run(name, func(t *testing.T) {
				g := model(t, "float32[N,6]", layers.Linear{Out: 8}, layers.BatchNorm{}, layers.Tanh{}, layers.Dropout{P: 0.3}, layers.Linear{Out: 3})
				x := step.Exporter{Config: train.Config{Rule: optim.SGD{LR: 0.05, Momentum: 0.9}, ClipNorm: 1, Accumulate: 3, Loss: loss, Seed: 9}}
				follow(t, g, x, batches(8, func(r *rand.Rand) data.Sample {
					n := 3 + r.IntN(5)
					return data.Sample{X: []*tensor.Dense{normal(r, n, 6)}, Y: []*tensor.Dense{classes(r, n, 3)}}
				}), run, 1e-4)
			})
		}
	})
}

// TestLosses: losses that compare with numbers, and groups of parameters with settings of their own.
func TestLosses(t *testing.T) {
	each(t, func(t *testing.T, run runner) {
		for name, loss := range map[string]train.Loss{"mse": train.MSE{}, "l1": train.L1{}, "huber": train.Huber{}, "bce": train.BCEWithLogits{}} {
			t.Run(name, func(t *testing.T) {
				g := model(t, "float32[N,6]", layers.Linear{Out: 8}, layers.GELU{}, layers.Linear{Out: 2})
				x := step.Exporter{Config: train.Config{Loss: loss, Rule: optim.AdamW{LR: 0.01}, Groups: []train.ParamGroup{{Rank: 1, WeightDecay: optim.Off, Rate: 0.5}}}}
				follow(t, g, x, batches(4, func(r *rand.Rand) data.Sample {
					n := 3 + r.IntN(5)
					y := normal(r, n, 2)
					if name == "bce" {
						for i, v := range dtype.Slice[float32](y) {
							dtype.Slice[float32](y)[i] = float32(max(0, min(1, v)))
						}
					}
					return data.Sample{X: []*tensor.Dense{normal(r, n, 6)}, Y: []*tensor.Dense{y}}
				}), run, 2e-5)
			})
		}
	})
}

// TestRulesTogether: every rule, with batches that make one update together, a clipped norm and a frozen convolution.
func TestRulesTogether(t *testing.T) {
	each(t, func(t *testing.T, run runner) {
		for name, rule := range rules {
			t.Run(name, func(t *testing.T) {
				g := model(t, "float32[N,2,6,6]", layers.Conv{Out: 3, Kernel: []int{3}}, layers.BatchNorm{}, layers.ReLU{}, layers.Conv{Out: 4, Kernel: []int{2}}, layers.Tanh{},
					layers.GlobalAvgPool{}, layers.Flatten{}, layers.Linear{Out: 3})
				if err := g.Edit(func(e *nn.Edit) { e.Freeze(nn.Glob("conv1")) }); err != nil {
					t.Fatal(err)
				}
				x := step.Exporter{Config: train.Config{Rule: rule, ClipNorm: 0.05, Accumulate: 2}}
				follow(t, g, x, batches(8, func(r *rand.Rand) data.Sample {
					n := 3 + r.IntN(5)
					return data.Sample{X: []*tensor.Dense{normal(r, n, 2, 6, 6)}, Y: []*tensor.Dense{classes(r, n, 3)}}
				}), run, 2e-5)
			})
		}
	})
}

// TestFrozen: what is frozen is not a variable, and statistics that are frozen stay.
func TestFrozen(t *testing.T) {
	g := model(t, "float32[N,6]", layers.Linear{Out: 8}, layers.BatchNorm{}, layers.ReLU{}, layers.Linear{Out: 3})
	if err := g.Edit(func(e *nn.Edit) { e.Freeze(nn.Glob("linear1")); e.Freeze(nn.Glob("batchnorm1")) }); err != nil {
		t.Fatal(err)
	}
	s, err := step.Export(g)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Variables {
		if of := v.Of + v.Name; !strings.Contains(of, "linear2") {
			t.Errorf("%s is a variable", v.Name)
		}
	}
	if len(s.Variables) != 6 {
		t.Errorf("%d variables, want weight and bias with two moments each", len(s.Variables))
	}
	one, err := step.Exporter{Config: train.Config{Accumulate: 1}}.Export(g)
	if err != nil || len(one.Variables) != 6 {
		t.Errorf("one batch at a time: %d variables, %v", len(one.Variables), err)
	}
}

// A step that was exported keeps the values that the model had, however the model is trained after it.
func TestExportedStays(t *testing.T) {
	g := model(t, "float32[N,6]", layers.Linear{Out: 3})
	s, err := step.Export(g)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*tensor.Dense{}
	for p := range g.Params() {
		want[p.Name()] = dtype.Clone(p.Data())
		data := dtype.Slice[float32](p.Data())
		for i := range data {
			data[i]++
		}
		p.Changed()
	}
	first, err := s.Start.Eval(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range want {
		if err := optest.Compare(first[name], w, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOpenLengths: sequences of any length train, of another in each batch.
func TestOpenLengths(t *testing.T) {
	each(t, func(t *testing.T, run runner) {
		for name, layer := range map[string]nn.Layer{"lstm": layers.LSTM{Hidden: 4}, "gru": layers.GRU{Hidden: 4}} {
			t.Run(name, func(t *testing.T) {
				x := step.Exporter{Config: train.Config{Loss: train.MSE{}, Rule: optim.SGD{LR: 0.1, Momentum: 0.9}, ClipNorm: 1}}
				follow(t, model(t, "float32[T,N,6]", layer, layers.Linear{Out: 3}), x, batches(20, func(r *rand.Rand) data.Sample {
					steps, n := 1+r.IntN(9), 1+r.IntN(5)
					return data.Sample{X: []*tensor.Dense{normal(r, steps, n, 6)}, Y: []*tensor.Dense{normal(r, steps, n, 3)}}
				}), run, 2e-5)
			})
		}
	})
}

// TestRefusals: what cannot be written down is refused by operator and node.
func TestRefusals(t *testing.T) {
	open := model(t, "float32[T,N,6]", layers.LSTM{Hidden: 4}, layers.Linear{Out: 3})
	for want, f := range map[string]func() error{
		"no ONNX form: LSTM lstm1 (needs operator set 9), RecurrentGrad after LSTM lstm1 (needs operator set 9)": func() error {
			_, err := step.Exporter{Config: train.Config{Loss: train.MSE{}}, Opset: 8}.Export(open)
			return err
		},
		"ConvDataGrad (the padding depends on a symbol: fix it in the type of the model's input)": func() error {
			g := nn.New("net")
			if err := g.Edit(func(e *nn.Edit) {
				x := e.Apply(layers.Conv{Out: 2, Kernel: []int{1}}, e.Input("x", "float32[N,2,T]"))
				w := e.Param("w", initial.FanIn{}, 3, 2, 3)
				y := e.Node(std.ConvConfig{AutoPad: "SAME_UPPER", Strides: []int{2}}, x, w).Out(0)
				e.Output("y", e.Node(op.Plain("GlobalAveragePool"), y).Out(0))
			}); err != nil {
				return err
			}
			_, err := step.Export(g)
			return err
		},
		"MaxPoolGrad of maxpool1 (ScatterElements: attribute reduction needs version 16, the graph has version 13)": func() error {
			_, err := step.Exporter{Opset: 13}.Export(model(t, "float32[N,2,8,8]", layers.Conv{Out: 2, Kernel: []int{1}}, layers.MaxPool{Kernel: []int{2}}, layers.Flatten{}, layers.Linear{Out: 3}))
			return err
		},
		"QuantizeLinear rounded: passes gradients straight through, which no ONNX operator does: remove the quantization from the model, or freeze the parameters before it": func() error {
			g := model(t, "float32[N,6]", layers.Linear{Out: 4, Name: "front"})
			if err := g.Edit(func(e *nn.Edit) {
				y := e.Outputs()[0]
				zero, err := dtype.FromInts(dtype.Int8, []int{3})
				if err != nil {
					t.Fatal(err)
				}
				scale, point := e.Scalar("scale", y, 0.1), e.Const("zero", zero)
				q := e.Node(std.QuantizeLinearConfig{}, y, scale, point)
				e.RenameNode(q, "rounded")
				e.Output("y", e.Node(std.DequantizeLinearConfig{}, q.Out(0), scale, point).Out(0))
				e.RemoveOutput("scores")
			}); err != nil {
				return err
			}
			_, err := step.Exporter{Config: train.Config{Loss: train.MSE{}}}.Export(g)
			return err
		},
		"train: there is no graph": func() error { _, err := step.Export(nil); return err },
		`an input of the model is called "rate", as one of the step is: rename it first`: func() error {
			g := nn.New("net")
			if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Apply(layers.Linear{Out: 2}, e.Input("rate", "float32[N,3]"))) }); err != nil {
				return err
			}
			_, err := step.Export(g)
			return err
		},
		"step_test.unwritten: the update rule has no formula to export: it does not implement optim.Formula": func() error {
			_, err := step.Exporter{Config: train.Config{Rule: unwritten{}}}.Export(model(t, "float32[N,6]", layers.Linear{Out: 3}))
			return err
		},
		"the formula fails": func() error {
			_, err := step.Exporter{Config: train.Config{Rule: formula{err: errors.New("the formula fails")}}}.Export(model(t, "float32[N,6]", layers.Linear{Out: 3}))
			return err
		},
		"a term of an update rule is missing": func() error {
			_, err := step.Exporter{Config: train.Config{Rule: formula{}}}.Export(model(t, "float32[N,6]", layers.Linear{Out: 3}))
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// TestDynamicQuantization: parameters in front of a product with a quantized matrix train, through the rounding, as in the trainer.
func TestDynamicQuantization(t *testing.T) {
	each(t, func(t *testing.T, run runner) {
		for _, front := range []bool{true, false} {
			x := step.Exporter{Config: train.Config{Loss: train.MSE{}, Rule: optim.SGD{LR: 0.05}}}
			follow(t, dynamic(t, front), x, batches(6, func(r *rand.Rand) data.Sample {
				n := 2 + r.IntN(5)
				return data.Sample{X: []*tensor.Dense{normal(r, n, 6)}, Y: []*tensor.Dense{normal(r, n, 3)}}
			}), run, 2e-5)
		}
	})
}

// TestDynamicQuantizationLSTM: the same for an LSTM with quantized weights, on sequences of various lengths.
func TestDynamicQuantizationLSTM(t *testing.T) {
	ops, err := contrib.With(std.Operators())
	if err != nil {
		t.Fatal(err)
	}
	integers := func(rows, cols int) *tensor.Dense {
		v := make([]int, 2*rows*cols)
		for i := range v {
			v[i] = i*91%256 - 128
		}
		d, err := dtype.FromInts(dtype.Int8, v, 2, rows, cols)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	each(t, func(t *testing.T, run runner) {
		for _, lengths := range []bool{false, true} {
			g := nn.NewGraph("net", ops, map[string]int{"": 17, contrib.Domain: 1})
			if err := g.Edit(func(e *nn.Edit) {
				x, lens := e.Apply(layers.Linear{Out: 4, Name: "front"}, e.Input("x", "float32[3,N,6]")), (*nn.Value)(nil)
				if lengths {
					lens = e.Input("lens", "int32[N]")
				}
				scale, zero := e.Const("scale", optest.Tensor([]float32{0.006, 0.004}, 2)), e.Const("zero", optest.Tensor([]int8{3, -20}, 2))
				n := e.NodeN(contrib.DynamicQuantizeLSTMConfig{Direction: "bidirectional", HiddenSize: 5}, 3, x,
					e.Const("w", integers(4, 20)), e.Const("r", integers(5, 20)), nil, lens, nil, nil, nil, scale, zero, scale, zero)
				e.Output("y", e.Apply(layers.Linear{Out: 3}, e.Node(std.ReduceMeanConfig{KeepDims: new(bool)}, n.Out(0), e.Const("axes", optest.Tensor([]int64{0, 1}, 2))).Out(0)))
			}); err != nil {
				t.Fatal(err)
			}
			x := step.Exporter{Config: train.Config{Loss: train.MSE{}, Rule: optim.SGD{LR: 0.05}}}
			follow(t, g, x, batches(6, func(r *rand.Rand) data.Sample {
				n := 2 + r.IntN(4)
				s := data.Sample{X: []*tensor.Dense{normal(r, 3, n, 6)}, Y: []*tensor.Dense{normal(r, n, 3)}}
				if lengths {
					lens := make([]int32, n)
					for i := range lens {
						lens[i] = int32(r.IntN(4))
					}
					s.X = append(s.X, optest.Tensor(lens, n))
				}
				return s
			}), run, 2e-5)
		}
	})
}

// dynamic returns a DynamicQuantizeMatMul between a linear layer, which trains or not, and one that trains.
func dynamic(t *testing.T, front bool) *nn.Graph {
	t.Helper()
	ops, err := contrib.With(std.Operators())
	if err != nil {
		t.Fatal(err)
	}
	b, err := dtype.FromInts(dtype.Int8, []int{1, -2, 3, -4, 5, -6, 7, -8}, 4, 2)
	if err != nil {
		t.Fatal(err)
	}
	g := nn.NewGraph("net", ops, map[string]int{"": 17, contrib.Domain: 1})
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Apply(layers.Linear{Out: 4, Name: "front"}, e.Input("x", "float32[N,6]"))
		quantized := e.Node(op.Name{Domain: contrib.Domain, Name: "DynamicQuantizeMatMul"}, x, e.Const("b", b), e.Scalar("scale", x, 0.02))
		e.RenameNode(quantized, "dynamic")
		e.Output("y", e.Apply(layers.Linear{Out: 3}, quantized.Out(0)))
		if !front {
			e.Freeze(nn.Glob("front*"))
		}
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

// unwritten is a rule of one's own.
type unwritten struct{ optim.Rule }

func (unwritten) Init(*tensor.Dense) ([]optim.Slot, error) { return nil, nil }

// formula is a rule of one's own whose formula fails, or has a term that is nothing.
type formula struct {
	unwritten
	err error
}

func (f formula) Formula(b optim.Builder, w, _ optim.Term, _ []optim.Term, rate, _ optim.Term) (optim.Term, []optim.Term, error) {
	if f.err != nil {
		return w, nil, f.err
	}
	return b.Sub(w, b.Mul(rate, nil)), nil, nil
}

// each tests with graft's engine and, where it is installed, with ONNX Runtime.
func each(t *testing.T, f func(t *testing.T, run runner)) {
	t.Run("graft", func(t *testing.T) { f(t, engine) })
	t.Run("onnxruntime", func(t *testing.T) { f(t, runtime(oracle.ORT(t))) })
}
