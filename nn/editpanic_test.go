package nn_test

import (
	"errors"
	"testing"

	"github.com/graft-ml/graft/nn"
	"gorgonia.org/gorgonia"
)

// TestEditPanics: an index into the empty result of a call that failed gives the error of that call; other panics reach the caller.
func TestEditPanics(t *testing.T) {
	cause := errors.New("no such expression")
	fails := func(...*gorgonia.Node) (gorgonia.Nodes, error) { return nil, cause }
	for _, c := range []struct {
		name   string
		f      func(e *nn.Edit)
		err    error
		panics bool
	}{
		{"index after an error", func(e *nn.Edit) { e.Output("y", e.Expr(fails, e.Input("x", "float32[N]"))[0]) }, cause, false},
		{"index without an error", func(e *nn.Edit) { e.Input("x", "float32[N]"); _ = e.Outputs()[len(e.Outputs())] }, nil, true},
		{"panic of another kind after an error", func(e *nn.Edit) { e.Fail(cause); panic("mine") }, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := nn.New("g")
			defer func() {
				if r := recover(); (r != nil) != c.panics {
					t.Errorf("panic: %v", r)
				}
				if len(g.Inputs()) > 0 || g.Version() != nn.New("other").Version() {
					t.Errorf("the graph has changed: inputs %v, version %d", g.Inputs(), g.Version())
				}
			}()
			if err := g.Edit(c.f); !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
		})
	}
}
