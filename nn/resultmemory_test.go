package nn_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/budget/budgettest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// resultSize is the length of the results of resultGraph.
const resultSize = 1 << 18

// resultGraph returns a graph with large results: of Relu, of a sequence, and gradients.
func resultGraph(t *testing.T) (g *nn.Graph, x *tensor.Dense) {
	t.Helper()
	g = nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		y := e.Node(op.Plain("Relu"), e.Node(op.Plain("Mul"), e.Input("x", "float32[n]"), e.Param("w", initial.Ones{}, 1)).Out(0)).Out(0)
		e.Output("y", y)
		e.Output("list", e.Node(op.Plain("SequenceConstruct"), y).Out(0))
		e.Output("loss", e.Node(op.Plain("ReduceSum"), y).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	return g, dtype.New(dtype.Float32, resultSize)
}

// takes are the options of a step that passes its gradients on.
func takes(g *nn.Graph, want *nn.Value) nn.StepOptions {
	return nn.StepOptions{
		Loss: g.Outputs()[2], Want: []*nn.Value{want}, Train: true,
		Begin: func(float64) error { return nil }, Take: func(*nn.Param, *tensor.Dense) error { return nil }, Check: func(*nn.Param, *tensor.Dense, float64) error { return nil },
	}
}

// TestResultsCharged: results are charged for as long as the caller keeps them, or their elements.
func TestResultsCharged(t *testing.T) {
	g, x := resultGraph(t)
	feed := nn.Feed{"x": x}
	step := func(o nn.StepOptions) ([]dtype.Value, error) {
		s, err := g.Step(t.Context(), feed, o)
		if err != nil {
			return nil, err
		}
		return s.Values, nil
	}
	for name, run := range map[string]func() (any, error){
		"Eval":               func() (any, error) { return g.Eval(t.Context(), feed, "y") },
		"Eval of a sequence": func() (any, error) { return g.Eval(t.Context(), feed, "list") },
		"Grad":               func() (any, error) { return g.Grad(t.Context(), feed, "loss", "x") },
		"Step that is kept": func() (any, error) {
			return g.Step(t.Context(), feed, nn.StepOptions{Want: []*nn.Value{g.Outputs()[0]}})
		},
		"Step, its values alone":  func() (any, error) { return step(nn.StepOptions{Want: []*nn.Value{g.Outputs()[0]}}) },
		"Step that takes":         func() (any, error) { return step(takes(g, g.Outputs()[0])) },
		"Step that takes, a list": func() (any, error) { return step(takes(g, g.Outputs()[1])) },
		"the elements alone": func() (any, error) {
			y, err := g.Eval(t.Context(), feed, "y")
			if err != nil {
				return nil, err
			}
			return dtype.Slice[float32](y["y"].(*tensor.Dense)), nil
		},
	} {
		if _, err := run(); err != nil {
			t.Fatal(name, err)
		}
		g.Trim()
		before := budgettest.Used()
		y, err := run()
		if err != nil {
			t.Fatal(name, err)
		}
		g.Trim()
		if got := budgettest.Used() - before; got < 4*resultSize {
			t.Errorf("%s: a result of %d bytes is charged %d", name, 4*resultSize, got)
		}
		runtime.KeepAlive(y)
		y = nil
		if got := budgettest.Used() - before; got > 0 {
			t.Errorf("%s: %d bytes are charged for a result that nobody has", name, got)
		}
	}
}

// TestStepMakesRoom: a step whose results would not fit passes no gradient on.
func TestStepMakesRoom(t *testing.T) {
	g, x := resultGraph(t)
	o, taken := takes(g, g.Outputs()[0]), 0
	o.Take = func(*nn.Param, *tensor.Dense) error { taken++; return nil }
	step := func() error {
		_, err := g.Step(t.Context(), nn.Feed{"x": x}, o)
		return err
	}
	if err := step(); err != nil || taken == 0 {
		t.Fatal(taken, err)
	}
	defer budget.Limit(0)
	budget.Limit(budgettest.Used() + 3*resultSize) // its program is kept
	taken = 0
	err := step()
	if _, full := errors.AsType[*budget.Error](err); !full || taken > 0 {
		t.Fatalf("%v, %d gradients", err, taken)
	}
}
