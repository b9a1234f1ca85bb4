package step_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// both makes a trainer of the engine and one on a device, and compares their models after each call of f.
func both(t *testing.T, net func(t *testing.T) *nn.Graph, c train.Config, steps int, f func(t *testing.T, i int, g *nn.Graph, tr *train.Trainer) error) {
	t.Helper()
	c.Log = train.Quiet
	want, got := net(t), net(t)
	engine, err := train.New(want, c)
	if err != nil {
		t.Fatal(err)
	}
	alive := 0
	c.Runtime = beside{&alive}
	device, err := train.New(got, c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range steps {
		a, b := f(t, i, want, engine), f(t, i, got, device)
		if (a == nil) != (b == nil) {
			t.Fatalf("step %d: %v, with the engine %v", i, b, a)
		}
		if err := device.Sync(); err != nil {
			t.Fatal(err)
		}
		if sameWeights(t, got, want, 1e-5); t.Failed() {
			t.Fatalf("after step %d: %v", i, a)
		}
	}
	if err := errors.Join(engine.Close(), device.Close()); err != nil {
		t.Fatal(err)
	}
	if alive != 0 {
		t.Errorf("%d values are left on the device", alive)
	}
}

// batchOf returns four samples of four numbers, which depend on i.
func batchOf(i int) data.Sample {
	b := data.Sample{X: []*tensor.Dense{dtype.New(dtype.Float32, 4, 4)}, Y: []*tensor.Dense{dtype.New(dtype.Int64, 4)}}
	for k := range dtype.Slice[float32](b.X[0]) {
		dtype.Slice[float32](b.X[0])[k] = float32((k*7+i*3)%11) - 5
	}
	for k := range dtype.Slice[int64](b.Y[0]) {
		dtype.Slice[int64](b.Y[0])[k] = int64((k + i) % 3)
	}
	return b
}

// TestRuntimeAfterError: a step that a callback ends after the statistics of its batch are known changes nothing, whichever step it is, and those after it go on.
func TestRuntimeAfterError(t *testing.T) {
	for _, accumulate := range []int{1, 2} {
		for at := range 4 {
			t.Run(fmt.Sprintf("%d batches, error at %d", accumulate, at), func(t *testing.T) {
				step := 0
				stop := errors.New("stop")
				c := train.Config{Rule: optim.SGD{LR: 0.1, Momentum: 0.9}, EMA: 0.5, Accumulate: accumulate, OnGradient: func(p *nn.Param, _ *tensor.Dense) error {
					if step == at && p.Name() == "linear2.bias" {
						return stop
					}
					return nil
				}}
				both(t, small, c, 6, func(t *testing.T, i int, _ *nn.Graph, tr *train.Trainer) error {
					step = i
					_, err := tr.Step(t.Context(), batchOf(i))
					return err
				})
			})
		}
	}
}

// TestRuntimeUnfrozen: parameters that were frozen for some steps, so that they have fewer updates than others, and rules that count them.
func TestRuntimeUnfrozen(t *testing.T) {
	net := func(t *testing.T) *nn.Graph {
		return model(t, "float32[N,4]", layers.Linear{Out: 3}, layers.Tanh{}, layers.Linear{Out: 3})
	}
	for name, rule := range map[string]optim.Rule{"adam": optim.Adam{LR: 0.01}, "nadam": optim.NAdam{LR: 0.01}, "radam": optim.RAdam{LR: 0.01}, "adagrad": optim.Adagrad{LRDecay: 0.5, Initial: 0.1}} {
		t.Run(name, func(t *testing.T) {
			both(t, net, train.Config{Rule: rule, EMA: 0.9}, 8, func(t *testing.T, i int, g *nn.Graph, tr *train.Trainer) error {
				switch i {
				case 1:
					edit(t, g, func(e *nn.Edit) { e.Freeze(nn.Glob("linear1")) })
				case 4:
					edit(t, g, func(e *nn.Edit) { e.Unfreeze() })
				}
				_, err := tr.Step(t.Context(), batchOf(i))
				return err
			})
		})
	}
}

// TestRuntimeRange: statistics may be as large as their type goes, though their squares are not numbers; the first that is not finite is refused.
func TestRuntimeRange(t *testing.T) {
	net := func(t *testing.T) *nn.Graph {
		return model(t, "float32[N,4]", layers.BatchNorm{}, layers.Linear{Out: 3})
	}
	for _, c := range []struct {
		size float32
		ok   bool
	}{{1, true}, {1e12, true}, {1e18, true}, {1e21, false}, {-1e21, false}} {
		both(t, net, train.Config{Rule: optim.SGD{LR: 0.01}}, 3, func(t *testing.T, i int, _ *nn.Graph, tr *train.Trainer) error {
			b := batchOf(i)
			if i == 1 {
				for k := range dtype.Slice[float32](b.X[0]) {
					dtype.Slice[float32](b.X[0])[k] *= c.size
				}
			}
			_, err := tr.Step(t.Context(), b)
			if (err == nil) != (i != 1 || c.ok) || err != nil && !strings.Contains(err.Error(), "not finite") {
				t.Errorf("numbers of %g: %v", c.size, err)
			}
			return err
		})
	}
}

// TestRuntimeRebound: targets of another element type, for which a session begins anew, in the middle of batches that make one update.
func TestRuntimeRebound(t *testing.T) {
	net := func(t *testing.T) *nn.Graph {
		return model(t, "float32[N,4]", layers.Linear{Out: 3}, layers.BatchNorm{}, layers.Tanh{}, layers.Linear{Out: 3})
	}
	for name, c := range map[string]train.Config{
		"mean": {Accumulate: 3}, "clipped": {Accumulate: 3, ClipNorm: 0.1}, "sum": {Accumulate: 3, Loss: train.CrossEntropy{Sum: true}}, "parts": {Accumulate: 2, MicroBatch: 2},
		"callback": {Accumulate: 3, OnGradient: func(_ *nn.Param, g *tensor.Dense) error {
			dtype.Slice[float32](g)[0] *= 2
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c.Rule = optim.SGD{LR: 0.1, Momentum: 0.9}
			both(t, net, c, 9, func(t *testing.T, i int, _ *nn.Graph, tr *train.Trainer) error {
				b := batchOf(i)
				if i%2 == 1 {
					y := dtype.New(dtype.Int32, 4)
					for k, class := range dtype.Slice[int64](b.Y[0]) {
						dtype.Slice[int32](y)[k] = int32(class)
					}
					b.Y[0] = y
				}
				_, err := tr.Step(t.Context(), b)
				return err
			})
		})
	}
}
