package nn_test

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestGradientMissingBeside: of several operators without a gradient the one is named that the gradient should go through, the first that is read
// if these are several.
func TestGradientMissingBeside(t *testing.T) {
	g := nn.New("g")
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "float32[1,2]")
		h := e.Node(op.Plain("Mul"), x, e.Param("w", initial.Ones{}, 1, 2)).Out(0)
		machine := func(name string, v *nn.Value) *nn.Value {
			n := e.Node(std.SVMRegressorConfig{Coefficients: []float32{1, 2}, Rho: []float32{0}, KernelType: "LINEAR"}, v)
			e.RenameNode(n, name)
			return n.Out(0)
		}
		sum := func(v ...*nn.Value) *nn.Value {
			return e.Node(std.ReduceSumConfig{KeepDims: new(bool)}, e.Node(op.Plain("Sum"), v...).Out(0)).Out(0)
		}
		a, b, c := machine("a", h), machine("b", h), machine("c", h)
		e.Output("one", sum(c))
		e.Output("two", sum(b, a))
		e.Output("none", sum(h))
	})
	x, err := dtype.FromSlice([]float32{3, 4}, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	for range 8 { // what is lost is in a map
		for loss, name := range map[string]string{"one": "c", "two": "b", "none": ""} {
			_, err := g.Grad(t.Context(), nn.Feed{"x": x}, loss, "w")
			if name == "" && err != nil || name != "" && (err == nil || !strings.Contains(err.Error(), "SVMRegressor "+name+":")) {
				t.Errorf("loss %s: got %v, want the name %q", loss, err, name)
			}
		}
	}
}

// TestGradientMissing: a gradient through an operator that has none, though its derivative is not
// zero, is an error that names it; where no gradient is asked for, or the derivative is zero, it is not.
func TestGradientMissing(t *testing.T) {
	machine := std.SVMRegressorConfig{Coefficients: []float32{1, 2}, Rho: []float32{0}, KernelType: "LINEAR"}
	build := func(middle op.Config) *nn.Graph {
		g := nn.New("g")
		err := g.Edit(func(e *nn.Edit) {
			x := e.Input("x", "float32[1,2]")
			w := e.Param("w", initial.Ones{}, 1, 2)
			h := e.Node(op.Plain("Mul"), x, w).Out(0)
			n := e.Node(middle, h)
			e.RenameNode(n, "middle")
			e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: new(bool)}, n.Out(0)).Out(0))
		})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	x, err := dtype.FromSlice([]float32{3, 4}, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	feed := nn.Feed{"x": x}
	g := build(machine)
	if _, err := g.Eval(t.Context(), feed, "loss"); err != nil {
		t.Fatal(err)
	}
	for _, wrt := range []string{"w", "x"} {
		_, err := g.Grad(t.Context(), feed, "loss", wrt)
		if err == nil || !strings.Contains(err.Error(), "gradient: ai.onnx.ml.SVMRegressor middle: has no gradient") {
			t.Errorf("by %s: got %v", wrt, err)
		}
	}
	out, err := build(op.Plain("Floor")).Grad(t.Context(), feed, "loss", "w")
	if err != nil {
		t.Fatal(err)
	}
	if d, err := dtype.Float64s(out["w"].(*tensor.Dense)); err != nil || d[0] != 0 || d[1] != 0 {
		t.Errorf("got %v, %v", d, err)
	}
}
