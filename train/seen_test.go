package train_test

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
)

// TestRunsSeeTraining: whatever writes weights and statistics (steps of every kind, those that are taken back, averages, a checkpoint), a run sees it,
// though it keeps what kernels derive from weights: it computes what a fresh copy of the graph computes.
func TestRunsSeeTraining(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]train.Config{
		"streamed": {EMA: 0.9}, "whole": {Whole: true, EMA: 0.9}, "accumulated": {Accumulate: 2, EMA: 0.9}, "in parts": {Batch: 16, MicroBatch: 4}, "clipped": {ClipNorm: 1}, "Lion": {Rule: optim.Lion{}},
		"frozen": {EMA: 0.9}, "frozen, whole": {Whole: true},
	} {
		g := nn.New("folded")
		nntest.Edit(t, g, func(e *nn.Edit) { // a convolution and a normalization, which runs compute as one
			h := e.Node(std.ReshapeConfig{}, e.Input("x", "float32[N,4]"), e.Ints("image", -1, 1, 2, 2)).Out(0)
			h = e.Node(std.ConvConfig{}, h, e.Param("w1", initial.FanIn{}, 8, 1, 2, 2)).Out(0)
			h = e.Node(std.BatchNormalizationConfig{}, h, e.Param("scale", initial.Ones{}, 8), e.Param("bias", initial.Zeros{}, 8), e.Param("mean", initial.Zeros{}, 8), e.Param("var", initial.Ones{}, 8)).Out(0)
			h = e.Node(op.Plain("Sqrt"), e.Node(op.Plain("Mul"), h, h).Out(0)).Out(0)
			h = e.Node(std.ReshapeConfig{}, h, e.Ints("row", -1, 8)).Out(0)
			e.Output("y", e.Node(std.GemmConfig{TransB: true}, h, e.Param("w2", initial.FanIn{}, 3, 8)).Out(0))
		})
		if strings.HasPrefix(name, "frozen") { // all but the statistics and the last layer
			nntest.Edit(t, g, func(e *nn.Edit) {
				for _, p := range []string{"w1", "scale", "bias"} {
					e.SetFrozen(e.Value(p).Param(), true)
				}
			})
		}
		x := nntest.Ramp(5, 4)
		check := func(after string) {
			t.Helper()
			want := nntest.Run(t, nntest.Clone(t, g), x)
			for range 3 { // the second run keeps what the third reads
				for i, v := range nntest.Run(t, g, x) {
					if v != want[i] {
						t.Fatalf("%s, after %s: element %d is %v, want %v", name, after, i, v, want[i])
					}
				}
			}
		}
		tr, err := train.New(g, quiet(c))
		if err != nil {
			t.Fatal(err)
		}
		good, bad := batch(t, blobs(16, 1)), batch(t, blobs(16, 2))
		dtype.Slice[float32](bad.X[0])[63] = float32(math.NaN())
		step := func(after string) {
			t.Helper()
			for range max(1, c.Accumulate) {
				if _, err := tr.Step(ctx, good); err != nil {
					t.Fatal(name, err)
				}
				check(after)
			}
		}
		check("nothing")
		step("a step")
		path := filepath.Join(t.TempDir(), "state")
		if err := tr.Save(path); err != nil {
			t.Fatal(err)
		}
		step("two steps")
		for k := range max(1, c.Accumulate) {
			b := good
			if k == max(1, c.Accumulate)-1 {
				b = bad
			}
			_, err = tr.Step(ctx, b)
			check("a step that is refused")
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if c.EMA > 0 {
			tr.Average()
			check("averaging")
			step("a step after averaging")
		}
		if err := tr.Restore(path); err != nil {
			t.Fatal(err)
		}
		check("going back")
		c.Batch, c.Epochs, c.RestoreBest = 16, 2, true
		if tr, err = train.New(g, quiet(c)); err != nil {
			t.Fatal(err)
		}
		for _, err := range tr.Epochs(ctx, blobs(32, 3), blobs(8, 4)) {
			if err != nil {
				t.Fatal(name, err)
			}
			check("an epoch")
		}
		check("restoring the best epoch")
	}
}

// TestOtherStepAfterRefused: after a step that was refused, one of another size, in more parts, is that of a trainer that has not seen it.
func TestOtherStepAfterRefused(t *testing.T) {
	ctx := context.Background()
	var after [2]map[string][]byte
	for i := range after {
		tr, err := train.New(rooted(t), quiet(train.Config{Batch: 8, MicroBatch: 8, Rule: optim.SGD{LR: 0.1}}))
		if err != nil {
			t.Fatal(err)
		}
		step := func(n int) {
			t.Helper()
			if _, err := tr.Step(ctx, batch(t, blobs(n, 1))); err != nil {
				t.Fatal(err)
			}
		}
		step(16) // in two parts, whose gradients are summed in memory that stays
		if i == 1 {
			bad := batch(t, blobs(8, 1))
			bad.X[0] = dtype.New(dtype.Float32, 8, 4)
			if _, err := tr.Step(ctx, bad); err == nil {
				t.Error("no error")
			}
		}
		step(16)
		after[i] = everything(t, tr)
	}
	same(t, "after a refused step", after[0], after[1])
}

// TestEqualGradients: parameters whose gradients are one tensor are updated alike, on its arrival and all at once.
func TestEqualGradients(t *testing.T) {
	var after [2]map[string][]byte
	for i, whole := range []bool{false, true} {
		g := nn.New("g")
		nntest.Edit(t, g, func(e *nn.Edit) {
			sum := e.Node(op.Plain("Add"), e.Input("x", "float32[N,4]"), e.Param("a", initial.Zeros{}, 4)).Out(0)
			e.Output("y", e.Node(op.Plain("Add"), sum, e.Param("b", initial.Zeros{}, 4)).Out(0))
		})
		tr, err := train.New(g, quiet(train.Config{Whole: whole, Rule: optim.SGD{LR: 1}}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Step(context.Background(), batch(t, blobs(8, 1))); err != nil {
			t.Fatal(err)
		}
		after[i] = weights(g)
		if a := after[i]; string(a["a"]) != string(a["b"]) {
			t.Errorf("whole %v: the two differ", whole)
		}
	}
	same(t, "all at once", after[0], after[1])
}
