package nn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget/budgettest"
	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestUnaskedGradients: gradients that nobody asks for, of the network's input and of frozen weights, need not fit in memory; those asked for must.
func TestUnaskedGradients(t *testing.T) {
	const rows, cols = 2048, 1024
	no := false
	for name, layer := range map[string]func(e *nn.Edit, x, w *nn.Value) *nn.Value{
		"Gemm":   func(e *nn.Edit, x, w *nn.Value) *nn.Value { return e.Node(std.GemmConfig{}, x, w).Out(0) },
		"MatMul": func(e *nn.Edit, x, w *nn.Value) *nn.Value { return e.Node(op.Plain("MatMul"), x, w).Out(0) },
		"read twice": func(e *nn.Edit, x, w *nn.Value) *nn.Value {
			return e.Node(op.Plain("Add"), e.Node(op.Plain("MatMul"), x, w).Out(0), e.Node(std.GemmConfig{}, x, w).Out(0)).Out(0)
		},
	} {
		g := nn.New("g")
		nntest.Edit(t, g, func(e *nn.Edit) {
			y := layer(e, e.Input("x", "float32[2048,1024]"), e.Input("w", "float32[1024,1]"))
			e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: &no}, e.Node(op.Plain("Tanh"), y).Out(0)).Out(0))
		})
		x, w := dtype.New(dtype.Float32, rows, cols), dtype.New(dtype.Float32, cols, 1)
		for i, v := range dtype.Slice[float32](x) {
			dtype.Slice[float32](x)[i] = v + float32(i%7)/7
		}
		feed := nn.Feed{"x": x, "w": w}
		want, err := g.Grad(t.Context(), feed, "loss", "w", "x")
		if err != nil {
			t.Fatal(name, err)
		}
		g.Trim()
		used := budgettest.Used()
		func() {
			defer nn.LimitMemory(0)
			nn.LimitMemory(used + rows*cols*3)
			got, err := g.Grad(t.Context(), feed, "loss", "w")
			if err != nil {
				t.Fatal(name, err)
			}
			if !slices.Equal(dtype.Slice[float32](got["w"].(*tensor.Dense)), dtype.Slice[float32](want["w"].(*tensor.Dense))) {
				t.Errorf("%s: another gradient", name)
			}
			if _, err := g.Grad(t.Context(), feed, "loss", "x"); err == nil || !strings.Contains(err.Error(), "memory") {
				t.Errorf("%s: %v", name, err)
			}
		}()
	}
}
