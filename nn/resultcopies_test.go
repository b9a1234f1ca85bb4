package nn_test

import (
	"bytes"
	"context"
	"errors"
	"runtime/debug"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestCopiesOfResultsEnd: while results, gradients and the items of sequences are copied for the caller, the context is checked for each part of
// them.
func TestCopiesOfResultsEnd(t *testing.T) {
	const n = 3 << 24 / 4 // three parts
	g := nn.New("m")
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "float32[N]")
		e.Output("y", e.Node(op.Plain("Neg"), x).Out(0))
		no := false
		e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: &no}, e.Node(op.Plain("Abs"), x).Out(0)).Out(0))
		e.Output("items", e.Node(op.Plain("SequenceConstruct"), x, x, x).Out(0))
	})
	for name, f := range map[string]func(ctx context.Context, in nn.Feed) error{
		"result":   func(ctx context.Context, in nn.Feed) error { _, err := g.Eval(ctx, in, "y"); return err },
		"gradient": func(ctx context.Context, in nn.Feed) error { _, err := g.Grad(ctx, in, "loss", "x"); return err },
		"sequence": func(ctx context.Context, in nn.Feed) error { _, err := g.Eval(ctx, in, "items"); return err },
	} {
		asked := func(n int) int {
			var ctx *kerneltest.EndsAfter
			for range 2 { // the second time it is lowered
				ctx = &kerneltest.EndsAfter{Context: t.Context(), Left: 1 << 30}
				if err := f(ctx, nn.Feed{"x": dtype.New(dtype.Float32, n)}); err != nil {
					t.Fatal(name, err)
				}
			}
			return 1<<30 - ctx.Left
		}
		small, large := asked(n/1000), asked(n)
		if large < small+2 {
			t.Errorf("%s: the context is checked %d times, and %d times when three parts are copied", name, small, large)
		}
		if err := f(&kerneltest.EndsAfter{Context: t.Context(), Left: large - 1}, nn.Feed{"x": dtype.New(dtype.Float32, n)}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the context ended with the last part: %v", name, err)
		}
	}
}

// askedIn is a context that notes whether a function was running when it was asked.
type askedIn struct {
	context.Context
	function string
	found    *bool
}

func (c askedIn) Err() error {
	*c.found = *c.found || bytes.Contains(debug.Stack(), []byte(c.function))
	return nil
}

// TestManyNodesAreFound: the context is checked while the nodes are found that a result depends on.
func TestManyNodesAreFound(t *testing.T) {
	g := nn.New("m")
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "float32[2]")
		for range 4100 {
			x = e.Node(op.Plain("Neg"), x).Out(0)
		}
		e.Output("y", x)
	})
	found := false
	if _, err := g.Eval(askedIn{t.Context(), "nn.ancestors(", &found}, nn.Feed{"x": dtype.New(dtype.Float32, 2)}, "y"); err != nil || !found {
		t.Errorf("the context is checked: %v; %v", found, err)
	}
}
