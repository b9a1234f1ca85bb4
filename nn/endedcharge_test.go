package nn_test

import (
	"context"
	"errors"
	"testing"

	"github.com/graft-ml/graft/internal/budget/budgettest"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// Runs and gradients that end at any look at their context, or for lack of memory, return what they were charged.
func TestEndedIsNotCharged(t *testing.T) {
	g := nn.New("g")
	no := false
	nntest.Edit(t, g, func(e *nn.Edit) {
		h := e.Input("x", "float32[N,256]")
		for range 3 {
			h = e.Node(op.Plain("Tanh"), e.Node(op.Plain("MatMul"), h, e.Param("w", initial.FanIn{}, 256, 256)).Out(0)).Out(0)
		}
		e.Output("kept", e.Node(op.Plain("NonZero"), h).Out(0)) // of another stage, whose inputs are held
		e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: &no}, h).Out(0))
	})
	feed := nn.Feed{"x": dtype.New(dtype.Float32, 1024, 256)}
	defer nn.LimitMemory(0)
	before := budgettest.Used()
	for name, f := range map[string]func(ctx context.Context) error{
		"run":      func(ctx context.Context) error { _, err := g.Eval(ctx, feed); return err },
		"gradient": func(ctx context.Context) error { _, err := g.Grad(ctx, feed, "loss"); return err },
	} {
		whole := &kerneltest.EndsAfter{Context: t.Context(), Left: 1 << 30}
		if err := f(whole); err != nil {
			t.Fatal(name, err)
		}
		looks := 1<<30 - whole.Left
		for n := 0; n < looks; n += 1 + looks/20 {
			g.Trim()
			if err := f(&kerneltest.EndsAfter{Context: t.Context(), Left: n}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %d of %d looks: %v", name, n, looks, err)
			}
		}
		for share := range int64(6) {
			g.Trim()
			nn.LimitMemory(before + share<<19)
			if err := f(t.Context()); err == nil {
				t.Errorf("%s with %d bytes: no error", name, share<<19)
			}
			nn.LimitMemory(0)
		}
		g.Trim()
		if now := budgettest.Used(); now > before {
			t.Errorf("%s: %d bytes are charged for what ended", name, now-before)
		}
	}
}
