package conformance_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// panics fails for errors that are panics.
func panics(t *testing.T, err error) {
	if err != nil && strings.Contains(err.Error(), "panic") {
		t.Fatal(err)
	}
}

// compareWithTape runs the model on Gorgonia's own machine: the same numbers, or both refuse.
func compareWithTape(t *testing.T, model []byte, g *nn.Graph, in, out nn.Feed, refused error) {
	for _, v := range g.Inputs() {
		if in[v.Name()] == nil {
			return
		}
	}
	for _, v := range g.Outputs() {
		if v.Type().Kind != op.Tensor || v.Type().DType == dtype.String {
			return // Gorgonia reads tensors of numbers alone
		}
	}
	if l, err := g.Lower(nn.LowerOptions{}); err == nil && l.Key != nil {
		return // random numbers: the machines draw others
	}
	s, err := conformance.TapeMachine{}.Load(context.Background(), fstest.MapFS{"m.onnx": {Data: model}}, "m.onnx")
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Run(context.Background(), in)
	if err != nil {
		panics(t, err)
		var at *nn.Error
		lowers := errors.As(err, &at) && at.Stage == "lower" // a shape that only a run knows
		if refused == nil && !lowers && everything(g, in) == nil {
			t.Fatalf("runs here and not on the TapeMachine: %v", err)
		}
		return
	}
	if refused != nil {
		t.Fatalf("runs on the TapeMachine and not here: %v", refused)
	}
	for name, v := range got {
		same(t, name, out[name], v)
	}
}

// everything computes all values, those too that no output depends on: Gorgonia's machine does, and the engine does not.
func everything(g *nn.Graph, in nn.Feed) error {
	var names []string
	for n := range g.Nodes() {
		if n.Domain() == "own" {
			return errors.New("values in functions have no names")
		}
		for _, v := range n.Outputs() {
			if v != nil {
				names = append(names, v.Name())
			}
		}
	}
	_, err := g.Eval(context.Background(), in, names...)
	return err
}

// tolerance is by how much the machines may differ: a few units of the type. What is not in the table is exact.
var tolerance = map[dtype.DType]float64{dtype.Float64: 1e-3, dtype.Float32: 1e-3, dtype.Float16: 4e-3, dtype.BFloat16: 4e-2}

// same compares two values.
func same(t *testing.T, name string, here, there dtype.Value) {
	a, ok1 := here.(*tensor.Dense)
	b, ok2 := there.(*tensor.Dense)
	if !ok1 || !ok2 {
		if ok1 != ok2 {
			t.Fatalf("output %s: %s here, %s on the TapeMachine", name, dtype.Describe(here), dtype.Describe(there))
		}
		return
	}
	y, err1 := dtype.Float64s(a)
	x, err2 := dtype.Float64s(b)
	if err1 != nil || err2 != nil {
		return
	}
	if len(x) != len(y) {
		t.Fatalf("output %s: %s here, %s on the TapeMachine", name, dtype.Describe(here), dtype.Describe(there))
	}
	for k := range x {
		if math.IsNaN(x[k]) && math.IsNaN(y[k]) || x[k] == y[k] {
			continue
		}
		if d := math.Abs(x[k] - y[k]); !(d <= tolerance[dtype.DTypeOf(a)]*max(1, math.Abs(x[k]))) {
			t.Fatalf("output %s, element %d: %v here, %v on the TapeMachine", name, k, y[k], x[k])
		}
	}
}
