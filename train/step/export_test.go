package step_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/step"
	"gorgonia.org/tensor"
)

// TestExportEnds: an export ends with the error of its context at any look, and looks at it in proportion to the nodes.
func TestExportEnds(t *testing.T) {
	var list []nn.Layer
	for range 50 {
		list = append(list, layers.Linear{Out: 4}, layers.Tanh{})
	}
	g := model(t, "float32[N,4]", list...)
	for name, f := range map[string]func(x step.Exporter) error{
		"export":        func(x step.Exporter) error { _, err := x.Export(g); return err },
		"training info": func(x step.Exporter) error { _, err := x.TrainingInfo(g); return err },
	} {
		ended, cancel := context.WithCancel(t.Context()) // one that can end is looked at
		defer cancel()
		count := &kerneltest.EndsAfter{Context: ended, Left: 1 << 30}
		if err := f(step.Exporter{Config: train.Config{Context: count}}); err != nil {
			t.Fatal(name, err)
		}
		looks := 1<<30 - count.Left
		if looks < 1000 {
			t.Errorf("%s: %d looks for 100 nodes", name, looks)
		}
		for at := 0; at < looks; at += looks / 5 {
			if err := f(step.Exporter{Config: train.Config{Context: &kerneltest.EndsAfter{Context: ended, Left: at}}}); !errors.Is(err, context.Canceled) {
				t.Fatalf("%s, ended at look %d of %d: %v", name, at, looks, err)
			}
		}
	}
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
