package step_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train/step"
	"gorgonia.org/tensor"
)

// affine is y = x·w + b with w = (1, 2) and b = 0.
func affine(t *testing.T) *nn.Graph {
	g := nn.New("affine")
	edit(t, g, func(e *nn.Edit) {
		w, b := e.Const("w", floats(1, 2)), e.Const("b", floats(0, 0))
		e.Input("idle", "float32[2]") // read by nobody
		e.Output("y", do(e, "Add", do(e, "Mul", e.Input("x", "float32[2]"), w), b))
	})
	return g
}

func floats(x ...float32) *tensor.Dense {
	d, err := dtype.FromSlice(x, len(x))
	if err != nil {
		panic(err)
	}
	return d
}

func do(e *nn.Edit, name string, in ...*nn.Value) *nn.Value {
	return e.Node(op.Plain(name), in...).Out(0)
}

// algorithm is g with more nodes.
func algorithm(t *testing.T, g *nn.Graph, f func(e *nn.Edit)) *nn.Graph {
	g = nntest.Clone(t, g)
	edit(t, g, f)
	return g
}

// TestStoredEntries: three entries, run in order: the first adds one to w, the second w to b and counts, the third updates only what is its own.
func TestStoredEntries(t *testing.T) {
	g := affine(t)
	first := nn.New("first")
	edit(t, first, func(e *nn.Edit) { e.Output("five", do(e, "Identity", e.Const("value", floats(5, 5)))) })
	list := []onnxio.Training{
		{Initialization: first, First: []onnxio.Binding{{Initializer: "w", Output: "five"}}, Update: []onnxio.Binding{{Initializer: "w", Output: "w_next"}},
			Algorithm: algorithm(t, g, func(e *nn.Edit) {
				e.Output("w_next", do(e, "Add", e.Value("w"), e.Const("by", floats(1, 1))))
				e.Output("seen", do(e, "Add", e.Value("y"), e.Value("y")))
			})},
		{Update: []onnxio.Binding{{Initializer: "b", Output: "b_next"}, {Initializer: "count", Output: "count_next"}},
			Algorithm: algorithm(t, g, func(e *nn.Edit) {
				e.Output("b_next", do(e, "Add", e.Value("b"), e.Value("w")))
				e.Output("count_next", do(e, "Add", e.Const("count", dtype.Scalar(int64(0))), e.Const("one", dtype.Scalar(int64(1)))))
				product := do(e, "Mul", e.Value("w"), e.Input("t", "float32[2]"))
				e.Output("loss", do(e, "Sub", product, e.Value("x")))
			})},
		{Update: []onnxio.Binding{{Initializer: "own", Output: "own_next"}},
			Algorithm: algorithm(t, g, func(e *nn.Edit) {
				own := e.Const("own", floats(1, 3))
				e.Output("own_next", do(e, "Add", own, own))
			})},
	}
	if err := onnxio.SetTrainingInfo(g, list); err != nil {
		t.Fatal(err)
	}
	load := func() *step.Stored {
		s, err := step.NewStored(g)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := load()
	if got := s.Inputs(); !slices.Equal(got, []step.Port{{Name: "x", Type: "float32[2]"}, {Name: "t", Type: "float32[2]"}}) {
		t.Errorf("inputs %v", got)
	}
	check := func(what string, out nn.Feed, err error, want map[string][]float64) {
		t.Helper()
		if err != nil {
			t.Fatal(what, err)
		}
		if names := slices.Sorted(maps.Keys(out)); !slices.Equal(names, slices.Sorted(maps.Keys(want))) {
			t.Errorf("%s returns %v", what, names)
		}
		for name, w := range want {
			if x, err := dtype.Float64s(out[name].(*tensor.Dense)); err != nil || !slices.Equal(x, w) {
				t.Errorf("%s: %s is %v, %v, want %v", what, name, x, err, w)
			}
		}
	}
	parameters := func(what string, g *nn.Graph, want map[string][]float64) {
		t.Helper()
		for name, w := range want {
			if x, err := dtype.Float64s(valueOf(t, g, name).Param().Data()); err != nil || !slices.Equal(x, w) {
				t.Errorf("%s: %s is %v, %v, want %v", what, name, x, err, w)
			}
		}
	}
	batch := nn.Feed{"x": floats(1, 1), "t": floats(10, 10), "unused": floats(1)}
	out, err := s.Look(t.Context(), batch)
	check("a look", out, err, map[string][]float64{"seen": {2, 4}, "loss": {9, 19}})
	out, err = s.Step(t.Context(), batch)
	check("a step", out, err, map[string][]float64{"seen": {2, 4}, "loss": {19, 29}})
	parameters("before Keep", g, map[string][]float64{"w": {1, 2}, "b": {0, 0}})
	out, err = s.Step(t.Context(), batch)
	check("another step", out, err, map[string][]float64{"seen": {8, 12}, "loss": {29, 39}})
	if err := s.Keep(); err != nil {
		t.Fatal(err)
	}
	parameters("after Keep", g, map[string][]float64{"w": {3, 4}, "b": {5, 7}})
	g = reread(t, g)
	kept, err := onnxio.TrainingInfo(g)
	if err != nil {
		t.Fatal(err)
	}
	parameters("from a file", kept[1].Algorithm, map[string][]float64{"w": {3, 4}, "b": {5, 7}, "count": {2}})
	parameters("from a file", kept[2].Algorithm, map[string][]float64{"own": {4, 12}})
	s = load()
	out, err = s.Look(t.Context(), batch)
	check("a look, from a file", out, err, map[string][]float64{"seen": {16, 22}, "loss": {29, 39}})
	if any, err := s.Initialize(t.Context()); !any || err != nil {
		t.Fatal(any, err)
	}
	out, err = s.Look(t.Context(), batch)
	check("a look, initialized", out, err, map[string][]float64{"seen": {20, 24}, "loss": {49, 49}})
}

// TestStoredAssigns: an output that an initializer cannot take is refused, and nothing of its entry is assigned.
func TestStoredAssigns(t *testing.T) {
	for want, next := range map[string]func(e *nn.Edit) *nn.Value{
		`initializer "w" takes float32[2], output "w_next" is int64[2]`:     func(e *nn.Edit) *nn.Value { return e.Node(std.CastConfig{To: dtype.Int64}, e.Value("w")).Out(0) },
		`initializer "w" takes float32[2], output "w_next" is float32[4]`:   func(e *nn.Edit) *nn.Value { return e.Node(std.ConcatConfig{}, e.Value("w"), e.Value("w")).Out(0) },
		`initializer "w" takes float32[2], output "w_next" is float32[1,2]`: func(e *nn.Edit) *nn.Value { return do(e, "Unsqueeze", e.Value("w"), e.Ints("axes", 0)) },
		`initializer "w" takes float32[2], output "w_next" is seq(float32)`: func(e *nn.Edit) *nn.Value { return do(e, "SequenceConstruct", e.Value("w")) },
		`initializer "w" takes float32[2], output "w_next" is string[2]`:    func(e *nn.Edit) *nn.Value { return e.Node(std.CastConfig{To: dtype.String}, e.Value("w")).Out(0) },
	} {
		g := affine(t)
		err := onnxio.SetTrainingInfo(g, []onnxio.Training{{
			Update: []onnxio.Binding{{Initializer: "b", Output: "b_next"}, {Initializer: "w", Output: "w_next"}},
			Algorithm: algorithm(t, g, func(e *nn.Edit) {
				e.Output("b_next", do(e, "Add", e.Value("b"), e.Value("w")))
				e.Output("w_next", next(e))
			}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := step.NewStored(g)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Step(t.Context(), nn.Feed{"x": floats(1, 1)}); err == nil || !strings.HasPrefix(err.Error(), "training_info, entry 0: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
		if err := s.Keep(); err != nil {
			t.Fatal(err)
		}
		if x, err := dtype.Float64s(valueOf(t, g, "b").Param().Data()); err != nil || !slices.Equal(x, []float64{0, 0}) {
			t.Errorf("%s: b is %v, %v", want, x, err)
		}
	}
}
