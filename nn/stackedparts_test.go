package nn_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestStackedParts: a tensor that is cut into parts without their axis, which are stacked along another one, is transposed, and so is the gradient; however
// many parts there are, each is one node.
func TestStackedParts(t *testing.T) {
	no := false
	for _, shape := range [][]int{{5}, {5, 3}, {4, 1, 3}, {2, 3, 2, 4}, {3, 0, 2}} {
		for from := range shape {
			for to := range shape {
				if shape[from] == 0 { // nothing to stack
					continue
				}
				perm := slices.Delete(sequence(len(shape)), from, from+1)
				perm = slices.Insert(perm, to, from)
				moved := make([]int, len(shape))
				for i, a := range perm {
					moved[i] = shape[a]
				}
				g := nn.New("g")
				if err := g.Edit(func(e *nn.Edit) {
					x, w := e.Input("x", "float32"+dims(shape)), e.Input("w", "float32"+dims(moved))
					parts := e.Node(std.SplitToSequenceConfig{Axis: from, KeepDims: &no}, x).Out(0)
					y := e.Node(std.ConcatFromSequenceConfig{Axis: to, NewAxis: true}, parts).Out(0)
					e.Output("y", y)
					e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: &no}, e.Node(op.Plain("Mul"), y, w).Out(0)).Out(0))
				}); err != nil {
					t.Fatal(err)
				}
				x, w := counting(shape...), counting(moved...)
				out, err := g.Eval(t.Context(), nn.Feed{"x": x, "w": w}, "y")
				if err != nil {
					t.Fatal(err)
				}
				grads, err := g.Grad(t.Context(), nn.Feed{"x": x, "w": w}, "loss", "x")
				if err != nil {
					t.Fatal(err)
				}
				y, dx := out["y"].(*tensor.Dense), grads["x"].(*tensor.Dense)
				if !slices.Equal([]int(y.Shape()), moved) || !slices.Equal([]int(dx.Shape()), shape) {
					t.Fatalf("%v, axis %d to %d: shapes %v and %v", shape, from, to, y.Shape(), dx.Shape())
				}
				for i, got := range dtype.Slice[float32](y) {
					at, rest := make([]int, len(shape)), i
					for k := len(moved) - 1; k >= 0; k-- {
						at[perm[k]], rest = rest%moved[k], rest/moved[k]
					}
					j := 0
					for k, n := range at {
						j = j*shape[k] + n
					}
					if back := dtype.Slice[float32](dx)[j]; got != float32(j) || back != float32(i) {
						t.Fatalf("%v, axis %d to %d: element %d is %v, want %d; gradient %d is %v, want %d", shape, from, to, i, got, j, j, back, i)
					}
				}
			}
		}
	}
	const parts = 500
	for _, to := range []int{0, 1} {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) {
			p := e.Node(std.SplitToSequenceConfig{KeepDims: &no}, e.Input("x", fmt.Sprintf("float32[%d,2]", parts))).Out(0)
			e.Output("y", e.Node(std.ConcatFromSequenceConfig{Axis: to, NewAxis: true}, p).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		l, err := g.Lower(nn.LowerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(l.ExprGraph.AllNodes()); n > parts+20 {
			t.Errorf("%d nodes for %d parts", n, parts)
		}
	}
}

// counting returns a tensor with the elements 0, 1, 2, ….
func counting(shape ...int) *tensor.Dense {
	d := dtype.New(dtype.Float32, shape...)
	for i := range dtype.Slice[float32](d) {
		dtype.Slice[float32](d)[i] = float32(i)
	}
	return d
}

// sequence returns 0 … n−1.
func sequence(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// dims spells a shape as in a type.
func dims(shape []int) string {
	s := ""
	for i, n := range shape {
		if i > 0 {
			s += ","
		}
		s += fmt.Sprint(n)
	}
	return "[" + s + "]"
}
