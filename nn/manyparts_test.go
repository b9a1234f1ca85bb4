package nn_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestManyParts: running and differentiating through a sequence takes memory in proportion to its parts, not to their square.
func TestManyParts(t *testing.T) {
	no := false
	for name, read := range map[string]func(e *nn.Edit, parts *nn.Value) *nn.Value{
		"one part": func(e *nn.Edit, parts *nn.Value) *nn.Value {
			return e.Node(op.Plain("SequenceAt"), parts, e.Const("three", dtype.Scalar(int64(3)))).Out(0)
		},
		"all parts": func(e *nn.Edit, parts *nn.Value) *nn.Value {
			return e.Node(std.ConcatFromSequenceConfig{Axis: 0}, parts).Out(0)
		},
		"stacked": func(e *nn.Edit, parts *nn.Value) *nn.Value {
			return e.Node(std.ConcatFromSequenceConfig{Axis: 0, NewAxis: true}, parts).Out(0)
		},
	} {
		allocated := func(parts int) float64 {
			g := nn.New("g")
			if err := g.Edit(func(e *nn.Edit) {
				x := e.Input("x", fmt.Sprintf("float32[%d,2]", parts))
				y := read(e, e.Node(std.SplitToSequenceConfig{KeepDims: &no}, x).Out(0))
				e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: &no}, e.Node(op.Plain("Mul"), y, y).Out(0)).Out(0))
			}); err != nil {
				t.Fatal(err)
			}
			x := dtype.New(dtype.Float32, parts, 2)
			for i := range dtype.Slice[float32](x) {
				dtype.Slice[float32](x)[i] = float32(i%7) - 3
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			grads, err := g.Grad(t.Context(), nn.Feed{"x": x}, "loss", "x")
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(name, err)
			}
			for i, got := range dtype.Slice[float32](grads["x"].(*tensor.Dense)) {
				want := 2 * dtype.Slice[float32](x)[i]
				if name == "one part" && i/2 != 3 {
					want = 0
				}
				if got != want {
					t.Fatalf("%s: gradient %d is %v, want %v", name, i, got, want)
				}
			}
			return float64(after.TotalAlloc - before.TotalAlloc)
		}
		if few, many := allocated(400), allocated(1600); many > 6*few {
			t.Errorf("%s: 400 parts take %.0f bytes, 1600 take %.0f", name, few, many)
		}
	}
}
