package nn_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
)

// The function of an edit may read the graph: it sees what the edit has done so far. What it may
// not do is refused rather than waited for.
func TestReadInsideEdit(t *testing.T) {
	g := nn.New("edited")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		e.Output("y", e.Node(op.Plain("Relu"), x).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = g.Edit(func(e *nn.Edit) {
			y, err := g.Value("y")
			if err != nil {
				t.Error(err)
			}
			e.Output("z", e.Node(op.Plain("Abs"), y).Out(0))
			if z, err := g.Value("z"); err != nil || z.Type().String() == "" {
				t.Error(z, err)
			}
			if n := len(slices.Collect(g.Nodes())); n != 2 {
				t.Errorf("%d nodes within the edit", n)
			}
			if s := g.Summary(); len(s.Rows) != 2 || !strings.Contains(s.Rows[1].Shape, "4") {
				t.Errorf("%+v", s.Rows)
			}
			if c := g.Clone(); c.Check() != nil {
				t.Error(c.Check())
			}
			g.Channels()
			for what, f := range map[string]func() error{
				"edit":  func() error { return g.Edit(func(*nn.Edit) {}) },
				"plan":  func() error { _, err := g.Plan(func(*nn.Edit) {}); return err },
				"run":   func() error { _, err := g.Run(t.Context()); return err },
				"eval":  func() error { _, err := g.Eval(t.Context(), nil); return err },
				"grad":  func() error { _, err := g.Grad(t.Context(), nil, "y"); return err },
				"lower": func() error { _, err := g.Lower(nn.LowerOptions{}); return err },
			} {
				if err := f(); err == nil || !strings.Contains(err.Error(), "is being edited") {
					t.Errorf("%s within an edit: %v", what, err)
				}
			}
		})
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the edit hangs")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
}
