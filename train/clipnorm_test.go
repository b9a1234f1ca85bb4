package train_test

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// TestClipNorm: gradients above the norm are scaled by norm/(their norm + 1e-6), PyTorch's formula, smaller ones stay;
// what is reported is the norm before. Batches that are accumulated are clipped as one.
func TestClipNorm(t *testing.T) {
	for _, c := range []struct {
		clip       float64
		accumulate int
		scale      float64
	}{{1e-3, 1, 1e-3 / (13e-3 + 1e-6)}, {1e-3, 3, 1e-3 / (13e-3 + 1e-6)}, {13e-3, 1, 13e-3 / (13e-3 + 1e-6)}, {14e-3, 1, 1}, {0, 2, 1}} {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) { // gradients far above PyTorch's 1e-6 would hide it
			x := e.Input("x", "float32[N,3]")
			product := e.Node(op.Plain("Mul"), x, e.Node(std.ConcatConfig{Axis: 0}, e.Param("a", initial.Zeros{}, 2), e.Param("b", initial.Zeros{}, 1)).Out(0))
			e.Output("y", product.Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		sum := train.LossFunc(func(e *nn.Edit, out, _ []*nn.Value) *nn.Value {
			return e.Node(std.ReduceSumConfig{KeepDims: new(bool)}, out[0]).Out(0)
		})
		tr, err := train.New(g, train.Config{Loss: sum, Rule: optim.SGD{LR: 1}, ClipNorm: c.clip, Accumulate: c.accumulate, Log: train.Quiet})
		if err != nil {
			t.Fatal(err)
		}
		x, err := dtype.FromSlice([]float32{3e-3, 4e-3, 12e-3}, 1, 3)
		if err != nil {
			t.Fatal(err)
		}
		var info train.StepInfo
		for range c.accumulate {
			if info, err = tr.Step(t.Context(), data.Sample{X: []*tensor.Dense{x}}); err != nil {
				t.Fatal(err)
			}
		}
		if math.Abs(info.Norm-13e-3) > 1e-9 {
			t.Errorf("clipped to %v: the norm before is %v, want 0.013", c.clip, info.Norm)
		}
		var got []float64
		for p := range g.Params() {
			d, err := dtype.Float64s(p.Data())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, d...)
		}
		for i, want := range []float64{3e-3, 4e-3, 12e-3} {
			if math.Abs(got[i]+want*c.scale) > 1e-6*want {
				t.Errorf("clipped to %v, %d batches: element %d moved by %.9g, want %.9g", c.clip, c.accumulate, i, got[i], -want*c.scale)
			}
		}
	}
}

// TestClipEqualGradients: two biases of one sum have the same gradient, which is clipped once for each.
func TestClipEqualGradients(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		sum := e.Node(op.Plain("Add"), e.Input("x", "float32[N,2]"), e.Param("a", initial.Zeros{}, 2)).Out(0)
		e.Output("y", e.Node(op.Plain("Add"), sum, e.Param("b", initial.Zeros{}, 2)).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	energy := train.LossFunc(func(e *nn.Edit, out, _ []*nn.Value) *nn.Value {
		square := e.Node(op.Plain("Mul"), out[0], out[0]).Out(0)
		return e.Node(std.ReduceSumConfig{KeepDims: new(bool)}, square).Out(0)
	})
	tr, err := train.New(g, train.Config{Loss: energy, Rule: optim.SGD{LR: 1}, ClipNorm: 1, Log: train.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	x, err := dtype.FromSlice([]float32{30, 40}, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Step(t.Context(), data.Sample{X: []*tensor.Dense{x}}); err != nil {
		t.Fatal(err)
	}
	for p := range g.Params() { // each has the gradient 60, 80, and both together the norm 100·√2
		for i, v := range dtype.Slice[float32](p.Data()) {
			if want := -[]float64{0.6, 0.8}[i] / math.Sqrt2; math.Abs(float64(v)-want) > 1e-6 {
				t.Errorf("%s moved by %g, want %g", p.Name(), v, want)
			}
		}
	}
}
