package nn_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// patient is an operator that takes for ever where its context has a deadline, and returns its input among zeros where it has none.
type patient struct{}

func (patient) Operator() op.Name { return op.Name{Domain: "my", Name: "Patient"} }

func patientOp(computed *int) *op.Op {
	return &op.Op{
		Domain: "my", Name: "Patient", Since: []int{1}, Doc: "Waits.", In: "X int64", Out: "Y int64", Attrs: patient{}, NoGrad: "integers", Pinned: "nothing is known of it",
		Infer: func(c *op.Call) ([]op.Type, error) { return []op.Type{op.Shaped(dtype.Int64, 1025)}, nil },
		Func: func(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
			if _, short := c.Context().Deadline(); short {
				<-c.Context().Done()
				return nil, c.Context().Err()
			}
			*computed++
			y := dtype.New(dtype.Int64, 1025)
			dtype.Slice[int64](y)[7] = dtype.Slice[int64](in[0].(*tensor.Dense))[0]
			return []dtype.Value{y}, nil
		},
	}
}

// TestFoldingTime: what a lowering without a context does not fold in time becomes a node that runs compute; small results are
// folded still, and a shape that depends on such a node is refused.
func TestFoldingTime(t *testing.T) {
	defer nn.SetFoldingTime(time.Millisecond)()
	computed := 0
	ops, err := std.Operators().With(patientOp(&computed))
	if err != nil {
		t.Fatal(err)
	}
	g := nn.NewGraph("m", ops, map[string]int{"": nn.LatestOpset, "my": 1})
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "int64[2]")
		slow := e.Node(std.ReduceMaxConfig{KeepDims: new(bool)}, e.Node(patient{}, e.Const("c", dtype.Scalar(int64(3)))).Out(0)).Out(0)
		e.Output("y", e.Node(op.Plain("Mul"), e.Node(op.Plain("Add"), x, slow).Out(0), slow).Out(0))
		size := e.Node(std.ConcatConfig{}, e.Ints("two", 2), e.Node(op.Plain("Add"), e.Ints("one", 1), e.Ints("four", 4)).Out(0))
		e.Output("z", e.Node(std.ConstantOfShapeConfig{}, size.Out(0)).Out(0))
		e.Output("shape", e.Node(std.ConstantOfShapeConfig{}, e.Node(std.ReshapeConfig{}, slow, e.Ints("flat", 1)).Out(0)).Out(0))
	})
	x, err := dtype.FromSlice([]int64{5, 7}, 2)
	if err != nil {
		t.Fatal(err)
	}
	low, err := g.Lower(nn.LowerOptions{Feed: nn.Feed{"x": x}, Outputs: []string{"y", "z"}})
	if err != nil {
		t.Fatal(err)
	}
	if !op.IsConst(low.Outputs[1]) {
		t.Errorf("z, which takes next to no time, is %v", low.Outputs[1])
	}
	m := gorgonia.NewTapeMachine(low.ExprGraph)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	want := []int64{24, 30}
	if got := low.Outputs[0].Value().Data(); !reflect.DeepEqual(got, want) {
		t.Errorf("TapeMachine computes %v, want %v", got, want)
	}
	for range 2 {
		out, err := g.Eval(t.Context(), nn.Feed{"x": x}, "y", "shape")
		if err != nil {
			t.Fatal(err)
		}
		if got := out["y"].Data(); !reflect.DeepEqual(got, want) || out["shape"].Shape()[0] != 3 {
			t.Errorf("y is %v, want %v, and the shape %v, want (3)", got, want, out["shape"].Shape())
		}
	}
	if computed != 2 {
		t.Errorf("the slow operator was computed %d times, want once by TapeMachine and once by the runs, which keep it", computed)
	}
	if _, err := g.Lower(nn.LowerOptions{Feed: nn.Feed{"x": x}}); err == nil || !strings.Contains(err.Error(), "use Run, which computes them too") {
		t.Errorf("a shape that cannot be known in time: %v", err)
	}
}

// TestFoldingTimeOfShapes: a shape that follows from values by a long computation ends it, too.
func TestFoldingTimeOfShapes(t *testing.T) {
	defer nn.SetFoldingTime(time.Millisecond)()
	const n = 1 << 20
	boxes, scores := dtype.New(dtype.Float32, 1, n, 4), dtype.New(dtype.Float32, 1, 1, n)
	for i := range dtype.Slice[float32](boxes) { // far apart: each is compared with all before
		dtype.Slice[float32](boxes)[i] = float32(i)
	}
	g := nn.NewGraph("m", std.Operators(), map[string]int{"": nn.LatestOpset})
	nntest.Edit(t, g, func(e *nn.Edit) {
		picked := e.Node(std.NonMaxSuppressionConfig{}, e.Const("boxes", boxes), e.Const("scores", scores), e.Ints("most", n), e.Const("limit", dtype.Scalar(float32(0.5))))
		if got, want := picked.Out(0).Type().String(), "int64[?,3]"; got != want {
			t.Errorf("the boxes that are picked are %s before a run, want %s", got, want)
		}
		e.Output("y", picked.Out(0))
	})
	if _, err := g.Lower(nn.LowerOptions{}); err == nil || !strings.Contains(err.Error(), "use Run, which computes them too") {
		t.Errorf("a shape that takes hours: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := g.Eval(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a run for a millisecond: %v", err)
	}
}
