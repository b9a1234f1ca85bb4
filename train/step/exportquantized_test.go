package step_test

import (
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/step"
	"gorgonia.org/tensor"
)

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
