package nn_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestParallelMemory: graphs that each need three fifths of the memory limit run at once: each run ends, with its result or because the memory does not suffice,
// all together never take more than the limit, and a graph that runs when the others have ended has its result.
func TestParallelMemory(t *testing.T) {
	const graphs, n = 8, 512
	x := dtype.New(dtype.Float32, n, 1)
	for i := range x.Float32s() {
		x.Float32s()[i] = 1
	}
	make := func() *nn.Graph {
		g := nn.New("wide")
		nntest.Edit(t, g, func(e *nn.Edit) {
			x := e.Input("x", "float32[N,1]")
			square := e.Node(op.Plain("MatMul"), x, e.Node(std.TransposeConfig{Perm: []int{1, 0}}, x).Out(0)).Out(0)
			square = e.Node(op.Plain("MatMul"), square, square).Out(0)
			e.Output("y", e.Node(op.Plain("ReduceSum"), square).Out(0))
		})
		return g
	}
	right := func(g *nn.Graph) error {
		out, err := g.Run(context.Background(), x)
		if err == nil && dtype.Slice[float32](out[0])[0] != n*n*n {
			t.Errorf("got %v, want %d", out[0], n*n*n)
		}
		return err
	}
	settle := func() int64 {
		for range 3 {
			runtime.GC()
		}
		return budget.Default() - budget.LeftCollected()
	}
	before := settle()
	one := make()
	if err := right(one); err != nil {
		t.Fatal(err)
	}
	need := settle() - before // of the program that is kept for later
	runtime.KeepAlive(one)
	nn.LimitMemory(before + need*5/3)
	defer nn.LimitMemory(0)
	var all sync.WaitGroup
	done := [graphs]int{}
	list := [graphs]*nn.Graph{}
	for i := range graphs {
		list[i] = make()
		all.Go(func() {
			for range 4 {
				err := right(list[i])
				if full := (*budget.Error)(nil); err != nil && !errors.As(err, &full) {
					t.Error(err)
				} else if err == nil {
					done[i]++
				}
				if left := budget.Left(); left < 0 {
					t.Errorf("%d bytes more than the limit", -left)
				}
			}
		})
	}
	all.Wait()
	for i, g := range list {
		if err := right(g); err != nil {
			t.Errorf("graph %d alone, after %v runs: %v", i, done, err)
		}
	}
}
