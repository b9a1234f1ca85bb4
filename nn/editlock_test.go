package nn_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
)

func small(t *testing.T) *nn.Graph {
	g := nn.New("edited")
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		e.Output("y", e.Node(op.Plain("Relu"), x).Out(0))
	})
	return g
}

// within calls f in an edit of g and fails the test when that takes a minute.
func within(t *testing.T, g *nn.Graph, f func(e *nn.Edit)) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- g.Edit(f) }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the edit hangs")
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
}

// The function of an edit reads by its handle, which sees what the edit has done so far.
func TestReadInsideEdit(t *testing.T) {
	g := small(t)
	within(t, g, func(e *nn.Edit) {
		z := e.Node(op.Plain("Abs"), e.Value("y")).Out(0)
		e.Output("z", z)
		if e.Lookup("z") != z || e.Lookup("w") != nil || len(e.Outputs()) != 2 || len(e.Inputs()) != 1 {
			t.Error(e.Lookup("z"), e.Lookup("w"), e.Outputs(), e.Inputs())
		}
		if list := e.Nodes(); len(list) != 2 || list[1].Type() != "Abs" || len(e.Select(nn.Ops("Conv"))) != 0 {
			t.Errorf("nodes %v", list)
		}
		e.Rewire(e.Value("y"), e.Value("x"), e.Find(nn.Ops("Abs")))
		e.Rewire(e.Value("x"), z, e.Find(nn.Ops("Relu"))) // now the later one comes first
		if list := e.Nodes(); len(list) != 2 || list[0].Type() != "Abs" {
			t.Errorf("nodes %v, want them in topological order", list)
		}
		e.SetMeta("k", "v")
		p := e.Param("p", initial.Zeros{}, 3)
		if list := e.Params(); len(list) != 1 || list[0] != p.Param() || e.Meta()["k"] != "v" || e.Ops().Find("", "Relu") == nil || e.Opset() != nn.LatestOpset {
			t.Error(list, e.Meta(), e.Opset())
		}
	})
}

// insideEdit calls the graph's own methods within the function that edits it.
var insideEdit = map[string]func(t *testing.T, g *nn.Graph) error{
	"Edit":   func(_ *testing.T, g *nn.Graph) error { return g.Edit(func(*nn.Edit) {}) },
	"Plan":   func(_ *testing.T, g *nn.Graph) error { _, err := g.Plan(func(*nn.Edit) {}); return err },
	"Run":    func(t *testing.T, g *nn.Graph) error { _, err := g.Run(t.Context()); return err },
	"Eval":   func(t *testing.T, g *nn.Graph) error { _, err := g.Eval(t.Context(), nil); return err },
	"Grad":   func(t *testing.T, g *nn.Graph) error { _, err := g.Grad(t.Context(), nil, "y"); return err },
	"Lower":  func(_ *testing.T, g *nn.Graph) error { _, err := g.Lower(nn.LowerOptions{}); return err },
	"Derive": func(_ *testing.T, g *nn.Graph) error { _, err := g.Derive(nn.DeriveOptions{}, nil); return err },
	"Step": func(t *testing.T, g *nn.Graph) error {
		_, err := g.Step(t.Context(), nil, nn.StepOptions{})
		return err
	},
	"Value":     func(_ *testing.T, g *nn.Graph) error { _, err := g.Value("y"); return err },
	"Node":      func(_ *testing.T, g *nn.Graph) error { _, err := g.Node("y"); return err },
	"Extract":   func(_ *testing.T, g *nn.Graph) error { _, err := g.Extract(nil, []string{"y"}); return err },
	"Check":     func(_ *testing.T, g *nn.Graph) error { return g.Check() },
	"Infer":     func(_ *testing.T, g *nn.Graph) error { return g.Infer() },
	"Nodes":     func(_ *testing.T, g *nn.Graph) error { return panics(func() { g.Nodes() }) },
	"Params":    func(_ *testing.T, g *nn.Graph) error { return panics(func() { g.Params() }) },
	"Inputs":    func(_ *testing.T, g *nn.Graph) error { return panics(func() { g.Inputs() }) },
	"Outputs":   func(_ *testing.T, g *nn.Graph) error { return panics(func() { g.Outputs() }) },
	"Channels":  func(_ *testing.T, g *nn.Graph) error { return panics(func() { g.Channels() }) },
	"Clone":     func(_ *testing.T, g *nn.Graph) error { return panics(func() { _, _ = g.Clone() }) },
	"Fork":      func(_ *testing.T, g *nn.Graph) error { return panics(func() { g.Fork() }) },
	"Summary":   func(_ *testing.T, g *nn.Graph) error { return panics(func() { g.Summary() }) },
	"Composite": func(t *testing.T, g *nn.Graph) error { return panics(func() { g.Composites(t.Context()) }) },
	"Meta":      func(_ *testing.T, g *nn.Graph) error { return panics(func() { g.Meta() }) },
	"Labels":    func(_ *testing.T, g *nn.Graph) error { return panics(func() { g.Labels() }) },
	"Version":   func(_ *testing.T, g *nn.Graph) error { return panics(func() { g.Version() }) },
	"Changes":   func(_ *testing.T, g *nn.Graph) error { return panics(func() { g.Changes(0) }) },
	"Training":  func(_ *testing.T, g *nn.Graph) error { return panics(func() { g.TrainingNodes() }) },
	"Trim":      func(_ *testing.T, g *nn.Graph) error { return panics(g.Trim) },
}

func panics(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	f()
	return nil
}

// A graph's own method in the function that edits it is refused rather than waited for.
func TestGraphInsideEdit(t *testing.T) {
	for name, f := range insideEdit {
		g, other := small(t), small(t)
		within(t, g, func(*nn.Edit) {
			if err := f(t, g); err == nil || !strings.Contains(err.Error(), "use the methods of the Edit there") {
				t.Errorf("%s within an edit: %v", name, err)
			}
			if n := len(slices.Collect(other.Nodes())); n != 1 {
				t.Errorf("%d nodes of another graph", n)
			}
			within(t, other, func(e *nn.Edit) { // in a goroutine of its own
				if err := f(t, other); err == nil {
					t.Errorf("%s of another graph within its edit, on another goroutine: no error", name)
				}
				e.SetName("changed")
			})
			if err := other.Edit(func(*nn.Edit) { // edits of two graphs, one within the other
				if err := f(t, g); err == nil {
					t.Errorf("%s within two edits: no error", name)
				}
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWaitForEdit checks that other goroutines wait for an edit, also those that call the same function.
func TestWaitForEdit(t *testing.T) {
	g := small(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 50 {
				if err := g.Edit(func(e *nn.Edit) { e.SetMeta(fmt.Sprint(i), "x"); time.Sleep(10 * time.Microsecond) }); err != nil {
					t.Error(err)
				}
				g.Meta()
				if _, err := g.Value("y"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if len(g.Meta()) != 4 {
		t.Errorf("metadata %v", g.Meta())
	}
}
