package nn_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/budget/budgettest"
	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
)

// TestEditsCharged: the tensors that an edit makes are charged before, also when a plan is applied: what does not fit is refused by name, takes nothing, and the
// graph stays as it was.
func TestEditsCharged(t *testing.T) {
	g := nn.New("g")
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "float32[N,1024]")
		x = e.Node(op.Plain("MatMul"), x, e.Param("a", initial.Zeros{}, 1024, 1024)).Out(0)
		e.Output("y", e.Node(op.Plain("MatMul"), x, e.Param("b", initial.Zeros{}, 1024, 1024)).Out(0))
	})
	used := func() int64 {
		nn.LimitMemory(0)
		for range 3 {
			runtime.GC()
		}
		return budget.Default() - budget.LeftCollected()
	}
	defer nn.LimitMemory(0)
	before := nntest.Dump(g)
	hidden := func(e *nn.Edit) *nn.Value { return e.Value("a").Users()[0].Out(0) }
	for name, c := range map[string]struct {
		edit func(e *nn.Edit)
		want string
	}{
		"cut":            {func(e *nn.Edit) { e.RemoveChannels(e.Value("a").Users()[0], 7) }, `1017 instead of 1024 indices on axis`},
		"widened":        {func(e *nn.Edit) { e.Resize(hidden(e), 1100, nn.ResizeOptions{Axis: -1}) }, `1100 instead of 1024 indices on axis`},
		"another type":   {func(e *nn.Edit) { e.ComputeIn(dtype.Float64) }, `parameter "a" in float64`},
		"input channels": {func(e *nn.Edit) { e.SetInputChannels(e.Value("x"), 1000, 1) }, `memory`},
		"layer":          {func(e *nn.Edit) { e.Insert(hidden(e), layers.Linear{Out: 1024}) }, `parameter "linear1.weight"`},
	} {
		t.Run(name, func(t *testing.T) {
			nn.LimitMemory(used() + 1<<20)
			var from, to runtime.MemStats
			runtime.ReadMemStats(&from)
			err := g.Edit(c.edit)
			runtime.ReadMemStats(&to)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "memory") {
				t.Errorf("%v, want %s", err, c.want)
			}
			if took := to.TotalAlloc - from.TotalAlloc; took > 3<<20 && !testing.Short() {
				t.Errorf("%d bytes are allocated", took)
			}
			nn.LimitMemory(0)
			plan, err := g.Plan(c.edit)
			if err != nil {
				t.Fatal(err)
			}
			nn.LimitMemory(used() + 1<<20)
			if err := plan.Apply(); name != "another type" && name != "layer" && name != "input channels" { // the plan holds these tensors
				if full := (*budget.Error)(nil); !errors.As(err, &full) {
					t.Errorf("a plan that does not fit: %v", err)
				}
				if got := nntest.Dump(g); got != before {
					t.Errorf("the graph is\n%s\nwant\n%s", got, before)
				}
				nn.LimitMemory(0)
				if err := plan.Apply(); err != nil {
					t.Error(err)
				}
			}
			nn.LimitMemory(0)
			if err := plan.Undo(); err != nil || nntest.Dump(g) != before {
				t.Errorf("undone: %v", err)
			}
		})
	}
}

// TestOwnTensorsCharged: tensors that a program gives a graph are charged while they are reachable, once.
func TestOwnTensorsCharged(t *testing.T) {
	const n = 1 << 20
	g := nn.New("g")
	before := budgettest.Used()
	check := func(what string, want int64) {
		t.Helper()
		if got := budgettest.Used() - before; got < want || got > want+n/2 {
			t.Errorf("%s: %d bytes are charged, want %d", what, got, want)
		}
	}
	nntest.Edit(t, g, func(e *nn.Edit) {
		e.Output("y", e.Node(op.Plain("Mul"), e.Input("x", "uint8[1]"), e.Const("c", dtype.New(dtype.Uint8, n))).Out(0))
	})
	check("a constant", n)
	d := dtype.New(dtype.Uint8, 3*n)
	for range 2 {
		nntest.Edit(t, g, func(e *nn.Edit) { e.SetData(e.Value("c"), d) })
		g.Trim()
	}
	check("other data in its place, given twice", 3*n)
	runtime.KeepAlive(g)
}
