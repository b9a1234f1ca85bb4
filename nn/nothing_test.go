package nn_test

import (
	"context"
	"testing"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestNothing: a result without elements is not computed, however long its other axes are.
func TestNothing(t *testing.T) {
	one := 1
	for _, cfg := range []op.Config{std.HardmaxConfig{Axis: &one}, std.LpNormalizationConfig{Axis: &one, P: 2}, op.Plain("EyeLike"), std.ScalerConfig{Offset: []float32{1}, Scale: []float32{2}}} {
		for _, shape := range [][]int{{1 << 40, 0}, {0, 1 << 40}} {
			g := nn.New("g")
			if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Node(cfg, e.Input("x", "float32[?,?]")).Out(0)) }); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			out, err := g.Run(ctx, dtype.New(dtype.Float32, shape...))
			cancel()
			if err != nil || !out[0].Shape().Eq(dtype.New(dtype.Float32, shape...).Shape()) {
				t.Errorf("%v of %v: %v", cfg.Operator(), shape, err)
			}
		}
	}
}
