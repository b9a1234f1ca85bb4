package nn_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
)

// TestCopiesCharged: the nodes of a copy are charged while it is reachable. A clone is refused if they do not fit; a fork, which returns no
// error, counts beyond the limit.
func TestCopiesCharged(t *testing.T) {
	const count = 5000
	g := nn.New("long")
	if err := g.Edit(func(e *nn.Edit) {
		v := e.Input("x", "float32[1]")
		for range count {
			v = e.Node(op.Plain("Neg"), v).Out(0)
		}
		e.Output("y", v)
	}); err != nil {
		t.Fatal(err)
	}
	used := func() int64 {
		for range 3 { // what a cleanup releases is found by the next collection
			runtime.GC()
		}
		return budget.Default() - budget.LeftCollected()
	}
	allocated := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for name, copied := range map[string]func() any{
		"Fork":      func() any { f, _ := g.Fork(); return f },
		"ForkUntil": func() any { f, _, err := g.ForkUntil(t.Context()); return []any{f, err} },
		"Clone":     func() any { c, err := g.Clone(); return []any{c, err} },
	} {
		before, heap := used(), allocated()
		c := copied()
		charged, took := used()-before, allocated()-heap
		runtime.KeepAlive(c)
		if charged < count*(1<<9) || !testing.Short() && charged < took {
			t.Errorf("%s: %d bytes are charged, %d allocated", name, charged, took)
		}
		if c = nil; used()-before > 1<<16 {
			t.Errorf("%s: %d bytes are charged for nothing", name, used()-before)
		}
	}
	defer nn.LimitMemory(0)
	nn.LimitMemory(used() + 1<<20)
	if _, err := g.Clone(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("copy: %d nodes: takes ", count)) {
		t.Error(err)
	}
	f, _ := g.Fork()
	if left := budget.Left(); left >= 0 {
		t.Errorf("%d bytes are left beside a fork of more than the limit", left)
	}
	runtime.KeepAlive(f)
}
