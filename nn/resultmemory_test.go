package nn_test

import (
	"runtime"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// TestResultsCharged: results are charged for as long as the caller keeps them.
func TestResultsCharged(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Node(op.Plain("Relu"), e.Input("x", "float32[n]")).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	const n = 1 << 18
	x := dtype.New(dtype.Float32, n)
	if _, err := g.Run(t.Context(), x); err != nil { // its program is kept
		t.Fatal(err)
	}
	before := budget.LeftCollected()
	y, err := g.Run(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	if got := before - budget.LeftCollected(); got < 4*n {
		t.Errorf("a result of %d bytes is charged %d", 4*n, got)
	}
	runtime.KeepAlive(y)
	y = nil
	if !budget.Fits(before) {
		t.Errorf("%d bytes are charged for a result that nobody has", before-budget.Left())
	}
}
