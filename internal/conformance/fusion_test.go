package conformance_test

import (
	"testing"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// TestFusion runs lowered models with and without kernels that take over what follows them,
// evaluating and, where every parameter takes part, training.
func TestFusion(t *testing.T) {
	gradients := map[string]bool{"mnist-cnn": true, "mnist-bn-cnn": true, "squeezenet1.1": true, "torch-mlp": true, "torch-resnet-mini": true, "torch-unet": true}
	for _, name := range models {
		t.Run(name, func(t *testing.T) {
			g, feed := load(t, name)
			for _, train := range []bool{false, true} {
				if train && !gradients[name] {
					continue
				}
				l, err := g.Lower(nn.LowerOptions{Feed: feed, Train: train})
				if err != nil {
					t.Fatal(err)
				}
				roots := append(gorgonia.Nodes(nil), l.Outputs...)
				if train {
					roots = append(roots, backward(t, l)...)
				}
				bothWays(t, roots)
			}
		})
	}
}

// backward returns the gradients of the sum of the first output.
func backward(t *testing.T, l *nn.Lowered) gorgonia.Nodes {
	t.Helper()
	_, wrt := l.Trainable()
	y := l.Outputs[0]
	ones := dtype.New(dtype.Float32, y.Shape()...)
	for i := range dtype.Slice[float32](ones) {
		dtype.Slice[float32](ones)[i] = float32(i%5) - 1.5
	}
	seed, err := op.Const(l.ExprGraph, ones)
	if err != nil {
		t.Fatal(err)
	}
	grads, err := op.Backpropagate(t.Context(), gorgonia.Nodes{y}, gorgonia.Nodes{seed}, wrt)
	if err != nil {
		t.Fatal(err)
	}
	return grads
}

// bothWays compares the roots' values.
func bothWays(t *testing.T, roots gorgonia.Nodes) {
	t.Helper()
	run := func(o engine.Options) *engine.Program {
		p, err := engine.Compile(o, roots...)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second run finds used memory
			if err := p.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return p
	}
	fused, apart := run(engine.Options{}), run(engine.Options{Unfused: true})
	a, b := fused.Stats(), apart.Stats()
	t.Logf("%d steps and %d bytes in place of %d and %d", len(a.Steps), a.Arena, len(b.Steps), b.Arena)
	lean := run(engine.Options{Lean: true, Private: true})
	t.Logf("lean: %d steps and %d bytes", len(lean.Stats().Steps), lean.Stats().Arena)
	for i, n := range roots {
		near(t, n.Name(), fused.Value(n), apart.Value(n), 1e-5)
		near(t, n.Name()+", lean", lean.Value(n), fused.Value(n), 0)
		if t.Failed() {
			t.Fatalf("root %d", i)
		}
	}
}
