package nn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestLoweringChecks: an operator that is computed by thousands of others, one after the other, and its gradient, end with
// the context while they are lowered and differentiated.
func TestLoweringChecks(t *testing.T) {
	no := false
	run := func(steps, limit int) (checked int, err error) {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) {
			e.SetOpset(27)
			var in []*nn.Value
			for _, name := range []string{"q", "k", "v"} {
				in = append(in, e.Input(name, fmt.Sprintf("float32[1,%d,4]", steps)))
			}
			y := e.Node(std.LinearAttentionConfig{QHeads: 1, KVHeads: 1, Rule: "linear"}, in...).Out(0)
			e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: &no}, y).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		feed := nn.Feed{}
		for _, name := range []string{"q", "k", "v"} {
			feed[name] = dtype.New(dtype.Float32, 1, steps, 4)
		}
		ctx := &kerneltest.EndsAfter{Context: t.Context(), Left: limit}
		_, err = g.Grad(ctx, feed, "loss", "q", "k", "v")
		return limit - ctx.Left, err
	}
	few, err := run(50, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	many, err := run(150, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if perStep := (many - few) / 100; perStep < 60 || perStep > 1000 {
		t.Errorf("the context was checked %d times for each step: want some times for each of about twenty nodes", perStep)
	}
	for limit := 1; limit < few; limit += few / 40 {
		checked, err := run(50, limit)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("ended at check %d of %d: %v", limit, few, err)
		}
		if after := checked - limit; after > 1000 {
			t.Errorf("ended at check %d: %d more checks", limit, after)
		}
	}
}

// TestManyGathers: the time to find the rows that each of many Gathers needs is in proportion to their number.
func TestManyGathers(t *testing.T) {
	count := func(rows int) int {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) {
			x := e.Input("x", fmt.Sprintf("float32[%d,2]", rows))
			parts := make([]*nn.Value, rows)
			for i := range parts {
				parts[i] = e.Node(std.GatherConfig{}, x, e.Const(fmt.Sprint("row ", i), dtype.Scalar(int64(i)))).Out(0)
			}
			e.Output("y", e.Node(std.ConcatConfig{Axis: 0}, parts...).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		ctx := &kerneltest.EndsAfter{Context: t.Context(), Left: 1 << 30}
		if _, err := g.Eval(ctx, nn.Feed{"x": dtype.New(dtype.Float32, rows, 2)}); err != nil {
			t.Fatal(err)
		}
		return 1<<30 - ctx.Left
	}
	if few, many := count(100), count(400); many > 5*few {
		t.Errorf("%d checks of the context for 100 Gathers, %d for 400", few, many)
	}
}
