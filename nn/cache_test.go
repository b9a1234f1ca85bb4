package nn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestLoweringsAreKept: a graph keeps so many lowerings, the one that was not used for longest goes first, and each has one program
// for runs that follow one another.
func TestLoweringsAreKept(t *testing.T) {
	g := nn.New("m")
	nntest.Edit(t, g, func(e *nn.Edit) {
		e.Output("y", e.Apply(layers.Linear{Out: 2, Name: "fc"}, e.Input("x", "float32[N,3]")))
	})
	run := func(n int) {
		t.Helper()
		nntest.Run(t, g, nntest.Ramp(n, 3))
	}
	rows := func() (list []int) {
		for _, key := range g.Lowerings() {
			var n int
			if _, err := fmt.Sscanf(key[strings.Index(key, "float32["):], "float32[%d,", &n); err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			list = append(list, n)
		}
		return list
	}
	for n := 1; n <= 16; n++ {
		run(n)
	}
	run(1)
	if got, want := rows(), []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1}; !slices.Equal(got, want) {
		t.Errorf("kept are %v, want %v", got, want)
	}
	run(17)
	run(5)
	if got, want := rows(), []int{3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1, 17, 5}; !slices.Equal(got, want) {
		t.Errorf("then %v, want %v", got, want)
	}
	for range 3 {
		run(5)
	}
	if n := g.IdlePrograms(); n != 16 {
		t.Errorf("%d idle programs, want one for each of 16", n)
	}
	g.Trim()
	if n := len(g.Lowerings()); n != 0 {
		t.Errorf("%d lowerings after Trim", n)
	}
	run(3)
	nntest.Edit(t, g, func(e *nn.Edit) { e.SetName("other") })
	if n := len(g.Lowerings()); n != 0 {
		t.Errorf("%d lowerings after an edit", n)
	}
}

// A lowering that depends on values is another for other values, types and requests, and the same for equal ones.
func TestLoweringsByValue(t *testing.T) {
	g := nn.New("m")
	nntest.Edit(t, g, func(e *nn.Edit) {
		x, shape := e.Input("x", "float32[6]"), e.Input("shape", "int64[2]")
		e.Output("y", e.Node(std.ReshapeConfig{}, x, shape).Out(0))
		e.Output("z", e.Node(op.Plain("Neg"), x).Out(0))
	})
	x := nntest.Ramp(6)
	run := func(want int, shape []int, outputs ...string) {
		t.Helper()
		s, err := dtype.FromInts(dtype.Int64, shape, 2)
		if err != nil {
			t.Fatal(err)
		}
		out, err := g.Eval(t.Context(), nn.Feed{"x": x, "shape": s}, outputs...)
		if err != nil {
			t.Fatal(err)
		}
		if y, ok := out["y"].(*tensor.Dense); ok && !slices.Equal([]int(y.Shape()), shape) {
			t.Errorf("reshaped to %v, want %v", y.Shape(), shape)
		}
		if n := len(g.Lowerings()); n != want {
			t.Errorf("%v of %v: %d lowerings, want %d", outputs, shape, n, want)
		}
	}
	run(1, []int{2, 3})
	run(1, []int{2, 3})
	run(2, []int{3, 2})
	run(3, []int{3, 2}, "z")
	run(4, []int{3, 2}, "y")
	run(4, []int{3, 2}, "z")
	run(4, []int{2, 3})
	for i, loss := range []int{5, 5} {
		s, _ := dtype.FromInts(dtype.Int64, []int{6, 1}, 2)
		if _, err := g.Eval(t.Context(), nn.Feed{"x": x, "shape": s}); err != nil || len(g.Lowerings()) != loss {
			t.Errorf("run %d: %d lowerings, %v", i, len(g.Lowerings()), err)
		}
	}
}

// TestLargeValuesAreNotKept: a lowering that depends on a large value, or on a sequence, is used once; otherwise the graph would keep sixteen copies of
// such values.
func TestLargeValuesAreNotKept(t *testing.T) {
	ones := nn.New("ones")
	nntest.Edit(t, ones, func(e *nn.Edit) {
		e.Output("y", e.Node(op.Plain("NonZero"), e.Input("x", "float32[N]")).Out(0))
	})
	sequences := nn.New("sequences")
	nntest.Edit(t, sequences, func(e *nn.Edit) {
		s := e.Node(op.Plain("SequenceConstruct"), e.Input("x", "float32[N]")).Out(0)
		e.Output("y", e.Node(op.Plain("SequenceAt"), s, e.Input("at", "int64[]")).Out(0))
	})
	for _, c := range []struct {
		name string
		g    *nn.Graph
		n    int
		at   []*tensor.Dense
		kept int
	}{{"small", ones, 10, nil, 1}, {"large", ones, 1 << 19, nil, 0}, {"sequence", sequences, 10, []*tensor.Dense{dtype.Scalar(int64(0))}, 1}} {
		c.g.Trim()
		for range 2 {
			out := nntest.Run(t, c.g, append([]*tensor.Dense{nntest.Ramp(c.n)}, c.at...)...)
			if len(out) < c.n*9/10 { // some are zero
				t.Errorf("%s: %d elements of %d", c.name, len(out), c.n)
			}
		}
		if got := len(c.g.Lowerings()); got != c.kept {
			t.Errorf("%s: %d lowerings are kept, want %d", c.name, got, c.kept)
		}
	}
}
