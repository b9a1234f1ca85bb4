package nn_test

import (
	"context"
	"math"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"gorgonia.org/tensor"
)

// TestAttentionMask checks that masked keys have no influence.
func TestAttentionMask(t *testing.T) {
	g := nn.New("masked")
	if err := g.Edit(func(e *nn.Edit) {
		e.Seed(3)
		x := e.Input("x", "float32[N,L,8]")
		e.Output("y", e.Apply(layers.Attention{Heads: 2}, x, x, e.Input("mask", "float32[N,1,1,L]")))
	}); err != nil {
		t.Fatal(err)
	}
	run := func(x []float32, mask ...float32) []float32 {
		t.Helper()
		n := len(mask)
		out, err := g.Eval(context.Background(), nn.Feed{
			"x":    tensor.New(tensor.WithShape(1, n, 8), tensor.WithBacking(x)),
			"mask": tensor.New(tensor.WithShape(1, 1, 1, n), tensor.WithBacking(mask)),
		}, "y")
		if err != nil {
			t.Fatal(err)
		}
		return dtype.Slice[float32](out["y"].(*tensor.Dense))
	}
	x := make([]float32, 4*8)
	for i := range x {
		x[i] = float32(math.Sin(float64(i * i)))
	}
	short, long, seen := run(x[:24], 0, 0, 0), run(x, 0, 0, 0, -1e9), run(x, 0, 0, 0, 0)
	differs := false
	for i, v := range short {
		if math.Abs(float64(v-long[i])) > 1e-6 {
			t.Errorf("element %d: %v, without the last key %v", i, long[i], v)
		}
		differs = differs || math.Abs(float64(v-seen[i])) > 1e-4
	}
	if !differs {
		t.Error("the mask has no influence")
	}
}
