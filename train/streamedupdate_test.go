package train_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// The norm of a step counts gradients that are computed after the check, too.
func TestNormOfPostponedGradients(t *testing.T) {
	one := batch(t, blobs(1, 1)) // whose gradients of weights take more memory than what they are products of
	var norms []float64
	for _, whole := range []bool{false, true} {
		tr, err := train.New(plainNet(t), quiet(train.Config{Rule: optim.SGD{LR: 0.1}, Whole: whole}))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			s, err := tr.Step(context.Background(), one)
			if err != nil {
				t.Fatal(err)
			}
			norms = append(norms, s.Norm)
		}
	}
	if !slices.Equal(norms[:3], norms[3:]) || norms[0] == 0 {
		t.Errorf("norms %v, whole %v", norms[:3], norms[3:])
	}
}

// TestOnArrivalIsWhole checks that updating each parameter on arrival of its gradient is bitwise equal
// to updating all at once.
func TestOnArrivalIsWhole(t *testing.T) {
	for name, rule := range map[string]optim.Rule{"SGD": optim.SGD{LR: 0.1, Momentum: 0.9, WeightDecay: 0.01}, "AdamW": optim.AdamW{}, "Lion": optim.Lion{}} {
		var infos [2][]train.StepInfo
		var after [2]map[string][]byte
		for i, whole := range []bool{false, true} {
			g := small(t)
			tr, err := train.New(g, train.Config{Rule: rule, Whole: whole, EMA: 0.9, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			for k := range 5 {
				info, err := tr.Step(context.Background(), batch(t, blobs(16, uint64(k))))
				if err != nil {
					t.Fatal(err)
				}
				infos[i] = append(infos[i], info)
			}
			after[i] = weights(g)
		}
		same(t, name, after[0], after[1])
		for k, a := range infos[0] {
			if a != infos[1][k] || a.Norm == 0 {
				t.Errorf("%s: step %d: %v, whole: %v", name, k, a, infos[1][k])
			}
		}
	}
}

// rooted adds the square root of a layer's squares: for an input of zeros the loss is a number, the gradient is not.
func rooted(t *testing.T) *nn.Graph {
	g := nn.New("rooted")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		h := e.Node(std.GemmConfig{TransB: true}, x, e.Param("w1", initial.FanIn{}, 8, 4)).Out(0)
		h = e.Node(op.Plain("Sqrt"), e.Node(op.Plain("Mul"), h, h).Out(0)).Out(0)
		h = e.Node(std.BatchNormalizationConfig{}, h, e.Param("scale", initial.Ones{}, 8), e.Param("bias", initial.Zeros{}, 8), e.Param("mean", initial.Zeros{}, 8), e.Param("var", initial.Ones{}, 8)).Out(0)
		e.Output("y", e.Node(std.GemmConfig{TransB: true}, h, e.Param("w2", initial.FanIn{}, 3, 8), e.Param("b2", initial.Zeros{}, 3)).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// everything is what a step may change, as bytes: parameters, statistics, and what a checkpoint has besides.
func everything(t *testing.T, tr *train.Trainer) map[string][]byte {
	t.Helper()
	all := weights(tr.Graph())
	path := filepath.Join(t.TempDir(), "state")
	if err := tr.Save(path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all["the trainer's state"] = b
	return all
}

// A step with a gradient that is not finite changes nothing, for all rules and ways to update, whether the gradients
// of the weights are computed before or after the check (for one sample behind), and the trainer goes on as one that
// has never seen it.
func TestGradientThatIsNotFinite(t *testing.T) {
	for name, c := range map[string]train.Config{
		"SGD": {Rule: optim.SGD{LR: 0.1, Momentum: 0.9}}, "AdamW": {EMA: 0.9}, "whole": {Whole: true, EMA: 0.9}, "Lion": {Rule: optim.Lion{}}, "clipped": {ClipNorm: 1},
		"accumulated": {Accumulate: 2}, "in parts": {Batch: 64, MicroBatch: 4}, "frozen": {Rule: optim.SGD{LR: 0.1}},
	} {
		for _, n := range []int{1, 8, 64} {
			g, twin := rooted(t), rooted(t)
			for _, g := range []*nn.Graph{g, twin} {
				if err := g.Edit(func(e *nn.Edit) { e.SetFrozen(e.Value("w2").Param(), name == "frozen") }); err != nil {
					t.Fatal(err)
				}
			}
			tr, err := train.New(g, c)
			if err != nil {
				t.Fatal(err)
			}
			other, err := train.New(twin, c)
			if err != nil {
				t.Fatal(err)
			}
			good, bad := batch(t, blobs(n, 1)), batch(t, blobs(n, 1))
			bad.X[0] = dtype.Clone(bad.X[0])
			for i := range dtype.Slice[float32](bad.X[0]) {
				dtype.Slice[float32](bad.X[0])[i] = 0 // the root's gradient is infinite there
			}
			step := func(tr *train.Trainer) {
				t.Helper()
				for range max(1, c.Accumulate) {
					if _, err := tr.Step(context.Background(), good); err != nil {
						t.Fatalf("%s, %d samples: %v", name, n, err)
					}
				}
			}
			step(tr)
			step(other)
			before := everything(t, tr)
			for range c.Accumulate - 1 {
				if _, err := tr.Step(context.Background(), good); err != nil {
					t.Fatal(err)
				}
			}
			info, err := tr.Step(context.Background(), bad)
			if err == nil || !strings.Contains(err.Error(), "train: step 2: the gradient of w1 is not finite; nothing was changed by it") || info.Updated {
				t.Fatalf("%s, %d samples: %+v, %v", name, n, info, err)
			}
			same(t, name, before, everything(t, tr))
			step(tr)
			step(other)
			same(t, name+", the next step", everything(t, other), everything(t, tr))
		}
	}
}

// A gradient that is computed after the check and may leave float32 is refused by its bound.
func TestGradientThatMayBeTooLarge(t *testing.T) {
	g := nn.New("linear")
	if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Apply(layers.Linear{Out: 3}, e.Input("x", "float32[N,4]"))) }); err != nil {
		t.Fatal(err)
	}
	tr, err := train.New(g, train.Config{Loss: train.MSE{}, Rule: optim.SGD{}})
	if err != nil {
		t.Fatal(err)
	}
	before := weights(g)
	x, y := dtype.New(dtype.Float32, 1, 4), dtype.New(dtype.Float32, 1, 3)
	for i := range dtype.Slice[float32](y) {
		dtype.Slice[float32](y)[i] = 3e18
	}
	for i := range dtype.Slice[float32](x) {
		dtype.Slice[float32](x)[i] = 1e14 * float32(i+1)
	}
	_, err = tr.Step(context.Background(), data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{y}})
	if err == nil || !strings.Contains(err.Error(), "step 1: the gradient of ") || !strings.Contains(err.Error(), "may be as large as") || !strings.Contains(err.Error(), "nothing was changed") {
		t.Fatal(err)
	}
	same(t, "after the step", before, weights(g))
}
