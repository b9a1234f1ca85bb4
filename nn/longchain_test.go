package nn_test

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// chainOf returns a graph of count nodes, each of which reads the one before.
func chainOf(t *testing.T, count int, operators ...string) *nn.Graph {
	t.Helper()
	g := nn.New("chain")
	if err := g.Edit(func(e *nn.Edit) {
		v := e.Input("x", "float32[2]")
		for i := range count {
			v = e.Node(op.Plain(operators[i%len(operators)]), v).Out(0)
		}
		e.Output("y", v)
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestLongChain: the stack does not grow with the graph. A goroutine whose stack exceeds Go's limit ends the process.
func TestLongChain(t *testing.T) {
	g := chainOf(t, 20000, "Sin", "Relu")
	defer debug.SetMaxStack(debug.SetMaxStack(4 << 20))
	x := tensor.New(tensor.WithShape(2), tensor.WithBacking([]float32{1, 2}))
	if _, err := g.Run(t.Context(), x); err != nil {
		t.Error(err)
	}
	if _, err := g.Grad(t.Context(), nn.Feed{"x": x}, "y", "x"); err == nil {
		t.Error("no error for a loss of two elements")
	}
	nntest.Edit(t, g, func(e *nn.Edit) {
		e.Output("z", e.Node(op.Plain("Exp"), e.Inputs()[0]).Out(0))
		e.RemoveOutput("y")
	})
	if n := g.Summary().Total.Nodes; n != 1 {
		t.Errorf("%d nodes are left", n)
	}
}

// TestSimplifyLinear: removing nodes takes time in proportion to their number.
func TestSimplifyLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector allocates more")
	}
	allocated := func(count int) uint64 {
		g := chainOf(t, count, "Identity")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := g.Edit(func(e *nn.Edit) {
			if n := e.Simplify(); n < count-1 {
				t.Errorf("%d of %d nodes are removed", n, count)
			}
		}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := allocated(2000), allocated(8000); many > 5*few {
		t.Errorf("%d bytes are allocated for 2,000 nodes, %d for 8,000", few, many)
	}
}
