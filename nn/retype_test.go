package nn_test

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// fixedBatch returns a model of two inputs whose batch is 2 everywhere: in both inputs, in a Reshape
// that keeps the batch, one that flattens, a Slice and an Expand.
func fixedBatch(t *testing.T, flat ...int) *nn.Graph {
	t.Helper()
	g := nn.New("fixed")
	if err := g.Edit(func(e *nn.Edit) {
		a, b := e.Input("a", "float32[2,3,4]"), e.Input("b", "float32[2,12]")
		r := e.Node(std.ReshapeConfig{}, a, e.Ints("flat", flat...)).Out(0)
		s := e.Node(op.Plain("Slice"), b, e.Ints("starts", 0), e.Ints("ends", 2), e.Ints("axes", 0)).Out(0)
		sum := e.Node(op.Plain("Add"), r, s).Out(0)
		x := e.Node(op.Plain("Expand"), sum, e.Ints("shape", 2, 12)).Out(0)
		e.Output("y", e.Node(std.ReshapeConfig{}, x, e.Ints("back", 2, 4, 3)).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestFreeBatch(t *testing.T) {
	g := fixedBatch(t, 2, 12)
	if err := g.Edit(func(e *nn.Edit) { e.FreeBatch("N") }); err != nil {
		t.Fatal(err)
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	if got := g.Outputs()[0].Type().String(); got != "float32[N,4,3]" {
		t.Errorf("the output is %s", got)
	}
	for _, n := range []int{1, 2, 7} {
		y, err := g.Run(t.Context(), dtype.New(dtype.Float32, n, 3, 4), dtype.New(dtype.Float32, n, 12))
		if err != nil {
			t.Fatal(err)
		}
		if s := y[0].Shape(); s[0] != n || s[1] != 4 || s[2] != 3 {
			t.Errorf("batch %d gives %v", n, s)
		}
	}
}

// TestFreeBatchOfFirstState: a constant that is as long as the batch and repeats itself, as exporters leave the first state of a
// recurrent layer in front of an Expand, is cut to 1; one that differs from sample to sample fixes the batch.
func TestFreeBatchOfFirstState(t *testing.T) {
	for _, differs := range []bool{false, true} {
		g := nn.New("m")
		nntest.Edit(t, g, func(e *nn.Edit) {
			x := e.Input("x", "float32[4,3]")
			zeros := dtype.New(dtype.Float32, 4, 3)
			if differs {
				dtype.Slice[float32](zeros)[5] = 1
			}
			state := e.Node(std.ConstantConfig{Value: zeros}).Out(0)
			e.Output("y", e.Node(op.Plain("Add"), x, e.Node(op.Plain("Expand"), state, e.Node(std.ShapeConfig{}, x).Out(0)).Out(0)).Out(0))
		})
		err := g.Edit(func(e *nn.Edit) { e.FreeBatch("N") })
		if differs {
			if err == nil || !strings.Contains(err.Error(), "prevents a change of the batch dimension") {
				t.Error(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if y, err := g.Run(t.Context(), dtype.New(dtype.Float32, 7, 3)); err != nil || y[0].Shape()[0] != 7 {
			t.Error(y, err)
		}
	}
}

// A first state of two directions: the batch is its second axis, and each direction keeps its own numbers.
func TestFreeBatchOfTwoDirections(t *testing.T) {
	for _, differs := range []bool{false, true} {
		g := nn.New("m")
		nntest.Edit(t, g, func(e *nn.Edit) {
			x := e.Input("x", "float32[4,2,3]")
			first := dtype.New(dtype.Float32, 2, 4, 3)
			for i := range dtype.Slice[float32](first) {
				dtype.Slice[float32](first)[i] = float32(10*(i/12) + i%3)
			}
			if differs {
				dtype.Slice[float32](first)[23] = 1
			}
			turned := e.Node(std.TransposeConfig{Perm: []int{1, 0, 2}}, x).Out(0)
			state := e.Node(std.ConstantConfig{Value: first}).Out(0)
			e.Output("y", e.Node(op.Plain("Add"), turned, e.Node(op.Plain("Expand"), state, e.Node(std.ShapeConfig{}, turned).Out(0)).Out(0)).Out(0))
		})
		err := g.Edit(func(e *nn.Edit) { e.FreeBatch("N") })
		if differs {
			if err == nil || !strings.Contains(err.Error(), "prevents a change of the batch dimension") {
				t.Error(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		nntest.Near(t, "of three", nntest.Run(t, g, dtype.New(dtype.Float32, 3, 2, 3)), []float64{0, 1, 2, 0, 1, 2, 0, 1, 2, 10, 11, 12, 10, 11, 12, 10, 11, 12}, 0)
	}
}

func TestFreeOneOfTwoBatches(t *testing.T) {
	g := fixedBatch(t, 2, 12)
	err := g.Edit(func(e *nn.Edit) { e.Input("a", "float32[N,3,4]") })
	if err == nil || !strings.Contains(err.Error(), "Add") || !strings.Contains(err.Error(), "batch dimension") {
		t.Fatalf("got %v, want an error that names the Add", err)
	}
	if got := g.Inputs()[0].Type().String(); got != "float32[2,3,4]" {
		t.Errorf("after the refusal the input is %s", got)
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestFixedBatchIsChecked(t *testing.T) {
	g := fixedBatch(t, 2, 12)
	_, err := g.Run(t.Context(), dtype.New(dtype.Float32, 3, 3, 4), dtype.New(dtype.Float32, 3, 12))
	const want = "run: input a: want float32[2,3,4], got float32[3,3,4]"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestSymbolsMustAgree(t *testing.T) {
	g := fixedBatch(t, 2, 12)
	if err := g.Edit(func(e *nn.Edit) { e.FreeBatch("N") }); err != nil {
		t.Fatal(err)
	}
	_, err := g.Run(t.Context(), dtype.New(dtype.Float32, 3, 3, 4), dtype.New(dtype.Float32, 2, 12))
	const want = "run: input b: want float32[N,12], got float32[2,12]: N is 3 in input a"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestExpandLeavesDimensions: exporters write -1, "as it is", into an Expand's target and have it replaced when
// the model runs. The shapes after it are known, and so are the sizes that layers there need.
func TestExpandLeavesDimensions(t *testing.T) {
	g := nn.New("m")
	nntest.Edit(t, g, func(e *nn.Edit) {
		do := func(name string, in ...*nn.Value) *nn.Value { return e.Node(op.Plain(name), in...).Out(0) }
		x := e.Input("x", "float32[N,7,6]")
		n := e.Node(std.GatherConfig{}, do("Shape", x), e.Ints("zero", 0)).Out(0)
		target := do("Reshape", e.Node(std.ConcatConfig{}, n, e.Ints("same", -1, -1)).Out(0), e.Ints("flat", -1))
		ones := e.Ints("ones", 1, 1, 1)
		target = do("Where", do("Equal", target, e.Ints("marks", -1, -1, -1)), ones, target)
		y := do("Expand", e.Param("token", initial.KaimingUniform{}, 1, 3, 8), target)
		if s := y.Type().String(); s != "float32[N,3,8]" {
			t.Errorf("the tokens are %s", s)
		}
		e.Output("y", e.Apply(layers.Linear{Out: 4}, y))
	})
	if s := g.Outputs()[0].Type().String(); s != "float32[N,3,4]" {
		t.Errorf("the output is %s", s)
	}
}
