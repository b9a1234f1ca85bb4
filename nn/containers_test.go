package nn_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// containers are models of x (float64[4,3]) with sequences and optionals on the way to the values
// that f gives, whose squares, weighted by how many they are, are the loss.
func containers(t *testing.T) map[string]func(e *nn.Edit, x *nn.Value) []*nn.Value {
	do := func(e *nn.Edit, c op.Config, in ...*nn.Value) *nn.Value { return e.Node(c, in...).Out(0) }
	at := func(e *nn.Edit, i int64) *nn.Value { return e.Const("at", dtype.Scalar(i)) }
	sequence := func(e *nn.Edit, x *nn.Value) *nn.Value {
		return do(e, op.Plain("SequenceConstruct"), x, do(e, op.Plain("Sin"), x), do(e, op.Plain("Exp"), x))
	}
	no := false
	square := nntest.BodyOf(t, func(e *nn.Edit) {
		a := e.Input("a", "float64[K,3]")
		e.Output("b", do(e, op.Plain("Mul"), a, do(e, op.Plain("Cos"), a)))
	})
	return map[string]func(e *nn.Edit, x *nn.Value) []*nn.Value{
		"at": func(e *nn.Edit, x *nn.Value) []*nn.Value {
			return []*nn.Value{do(e, op.Plain("SequenceAt"), sequence(e, x), at(e, -2)), do(e, op.Plain("SequenceAt"), sequence(e, x), at(e, 2))}
		},
		"insert and erase": func(e *nn.Edit, x *nn.Value) []*nn.Value {
			s := do(e, std.SequenceEmptyConfig{DType: dtype.Float64})
			s = do(e, op.Plain("SequenceInsert"), s, do(e, op.Plain("Tanh"), x))
			s = do(e, op.Plain("SequenceInsert"), s, x, at(e, -1))
			s = do(e, op.Plain("SequenceInsert"), s, do(e, op.Plain("Exp"), x), at(e, 1))
			s = do(e, op.Plain("SequenceErase"), s, at(e, 0))
			return []*nn.Value{do(e, std.ConcatFromSequenceConfig{Axis: -1}, s)}
		},
		"stacked": func(e *nn.Edit, x *nn.Value) []*nn.Value {
			return []*nn.Value{do(e, std.ConcatFromSequenceConfig{Axis: -1, NewAxis: true}, sequence(e, x))}
		},
		"split": func(e *nn.Edit, x *nn.Value) []*nn.Value {
			s := do(e, std.SplitToSequenceConfig{}, do(e, op.Plain("Sin"), x), at(e, 3))
			return []*nn.Value{do(e, op.Plain("SequenceAt"), s, at(e, 1)), do(e, std.ConcatFromSequenceConfig{}, s)}
		},
		"split into rows": func(e *nn.Edit, x *nn.Value) []*nn.Value {
			s := do(e, std.SplitToSequenceConfig{Axis: 1, KeepDims: &no}, do(e, op.Plain("Sin"), x))
			return []*nn.Value{do(e, op.Plain("SequenceAt"), s, at(e, 1))}
		},
		"map": func(e *nn.Edit, x *nn.Value) []*nn.Value {
			s := do(e, std.SequenceMapConfig{Body: square}, do(e, std.SplitToSequenceConfig{}, x, at(e, 3)))
			return []*nn.Value{do(e, std.ConcatFromSequenceConfig{}, s)}
		},
		"optional": func(e *nn.Edit, x *nn.Value) []*nn.Value {
			o := do(e, std.OptionalConfig{}, do(e, op.Plain("Sin"), x))
			s := do(e, std.OptionalConfig{}, sequence(e, x))
			return []*nn.Value{do(e, op.Plain("OptionalGetElement"), o), do(e, op.Plain("OptionalGetElement"), x),
				do(e, op.Plain("SequenceAt"), do(e, op.Plain("OptionalGetElement"), s), at(e, 1))}
		},
		"lengths and positions that are computed": func(e *nn.Edit, x *nn.Value) []*nn.Value {
			sine := do(e, op.Plain("Sin"), x)
			rows := do(e, std.ReshapeConfig{}, do(e, op.Plain("NonZero"), x), e.Const("row", dtype.Scalar(int64(-1)))) // two coordinates of each
			some := do(e, std.GatherConfig{}, sine, do(e, op.Plain("Mod"), rows, e.Const("four", dtype.Scalar(int64(4)))))
			s := do(e, op.Plain("SequenceInsert"), sequence(e, x), some)
			last := do(e, op.Plain("Sub"), do(e, op.Plain("SequenceLength"), s), e.Const("one", dtype.Scalar(int64(1))))
			count := do(e, op.Plain("Mod"), do(e, op.Plain("Size"), rows), e.Const("three", dtype.Scalar(int64(3))))
			return []*nn.Value{do(e, std.ConcatFromSequenceConfig{}, s), do(e, op.Plain("SequenceAt"), s, last), do(e, op.Plain("SequenceAt"), s, count)}
		},
	}
}

// TestGradientThroughContainers compares gradients with differences.
func TestGradientThroughContainers(t *testing.T) {
	x, err := dtype.FromSlice([]float64{0.3, -0.8, 1.2, 0.7, -0.2, 0.9, 1.1, -1.3, 0.4, -0.6, 0.1, 0.5}, 4, 3)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range containers(t) {
		t.Run(name, func(t *testing.T) {
			g := nn.New("g")
			if err := g.Edit(func(e *nn.Edit) {
				no := false
				var loss *nn.Value
				for i, v := range f(e, e.Input("x", "float64[4,3]")) {
					weight := e.Const("weight", dtype.Scalar(float64(i+1)))
					v = e.Node(std.ReduceSumSquareConfig{KeepDims: &no}, e.Node(op.Plain("Mul"), v, weight).Out(0)).Out(0)
					if loss != nil {
						v = e.Node(op.Plain("Add"), loss, v).Out(0)
					}
					loss = v
				}
				e.Output("loss", loss)
			}); err != nil {
				t.Fatal(err)
			}
			out, err := g.Grad(t.Context(), nn.Feed{"x": x}, "loss", "x")
			if err != nil {
				t.Fatal(err)
			}
			got := dtype.Slice[float64](out["x"].(*tensor.Dense))
			for i := range got {
				var at [2]float64
				for k, h := range []float64{-1e-5, 1e-5} {
					moved := slices.Clone(dtype.Slice[float64](x))
					moved[i] += h
					m, err := dtype.FromSlice(moved, 4, 3)
					if err != nil {
						t.Fatal(err)
					}
					y, err := g.Eval(t.Context(), nn.Feed{"x": m}, "loss")
					if err != nil {
						t.Fatal(err)
					}
					at[k] = dtype.Slice[float64](y["loss"].(*tensor.Dense))[0]
				}
				if want := (at[1] - at[0]) / 2e-5; math.Abs(got[i]-want) > 1e-7*(1+math.Abs(want)) {
					t.Errorf("element %d: got %v, want %v", i, got[i], want)
				}
			}
		})
	}
}

// TestContainerOutputs: what was taken apart is put together where it is an output.
func TestContainerOutputs(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[2]")
		s := e.Node(op.Plain("SequenceConstruct"), x, e.Node(op.Plain("Neg"), x).Out(0)).Out(0)
		e.Output("sequence", s)
		e.Output("optional", e.Node(std.OptionalConfig{}, s).Out(0))
		e.Output("empty", e.Node(op.Plain("SequenceErase"), e.Node(op.Plain("SequenceConstruct"), x).Out(0)).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	x, err := dtype.FromSlice([]float32{1, 2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.Eval(t.Context(), nn.Feed{"x": x})
	if err != nil {
		t.Fatal(err)
	}
	s := out["sequence"].(*dtype.Sequence)
	if len(s.Items) != 2 || dtype.Slice[float32](s.Items[1].(*tensor.Dense))[1] != -2 {
		t.Errorf("got %v", s)
	}
	if o, ok := out["optional"].(*dtype.Optional).Item.(*dtype.Sequence); !ok || len(o.Items) != 2 {
		t.Errorf("got %v", out["optional"])
	}
	if s := out["empty"].(*dtype.Sequence); len(s.Items) != 0 || s.Elem != dtype.Float32 {
		t.Errorf("got %v", s)
	}
}

// TestGradientLostInLoop: a Loop takes a sequence as a whole, so that no gradient passes.
func TestGradientLostInLoop(t *testing.T) {
	body := nntest.BodyOf(t, func(e *nn.Edit) {
		e.Input("i", "int64[]")
		e.Output("on", e.Node(op.Plain("Identity"), e.Input("condition", "bool[]")).Out(0))
		s := e.Input("s", "seq(float32[2])")
		e.Output("next", e.Node(op.Plain("SequenceInsert"), s, e.Node(op.Plain("SequenceAt"), s, e.Const("first", dtype.Scalar(int64(0)))).Out(0)).Out(0))
	})
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		no := false
		x := e.Input("x", "float32[2]")
		s := e.Node(op.Plain("SequenceConstruct"), e.Node(op.Plain("Exp"), x).Out(0)).Out(0)
		n := e.Node(std.LoopConfig{Body: body}, e.Const("trips", dtype.Scalar(int64(2))), nil, s)
		e.RenameNode(n, "again")
		y := e.Node(std.ConcatFromSequenceConfig{}, n.Out(0)).Out(0)
		e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: &no}, y).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	x, err := dtype.FromSlice([]float32{0, 0}, 2)
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.Eval(t.Context(), nn.Feed{"x": x}, "loss")
	if err != nil || dtype.Slice[float32](out["loss"].(*tensor.Dense))[0] != 6 {
		t.Fatalf("got %v, %v", out, err)
	}
	if _, err := g.Grad(t.Context(), nn.Feed{"x": x}, "loss", "x"); err == nil || !strings.HasPrefix(err.Error(), "gradient: Loop again: has no gradient") {
		t.Errorf("got %v", err)
	}
}

// TestCollectingLoop: the body of a Loop that collects a sequence is compiled once, not for each length.
func TestCollectingLoop(t *testing.T) {
	body := nntest.BodyOf(t, func(e *nn.Edit) {
		e.Input("i", "int64[]")
		e.Output("on", e.Node(op.Plain("Identity"), e.Input("condition", "bool[]")).Out(0))
		s, x := e.Input("s", "seq(float32[])"), e.Input("x", "float32[]")
		e.Output("next", e.Node(op.Plain("SequenceInsert"), s, x).Out(0))
		e.Output("more", e.Node(op.Plain("Exp"), x).Out(0))
	})
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		s := e.Node(std.SequenceEmptyConfig{DType: dtype.Float32}).Out(0)
		loop := e.NodeN(std.LoopConfig{Body: body}, 2, e.Input("trips", "int64[]"), nil, s, e.Input("x", "float32[]"))
		e.Output("y", e.Node(std.ConcatFromSequenceConfig{NewAxis: true}, loop.Out(0)).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	x := float32(0)
	run := func(turns int64) []float32 {
		x -= 1e-3
		out, err := g.Run(t.Context(), dtype.Scalar(turns), dtype.Scalar(x))
		if err != nil {
			t.Fatal(err)
		}
		return dtype.Slice[float32](out[0])
	}
	if y := run(3); len(y) != 3 || y[0] != x || math.Abs(float64(y[1])-math.Exp(float64(x))) > 1e-6 {
		t.Errorf("got %v", y)
	}
	few, many := testing.AllocsPerRun(2, func() { run(10) }), testing.AllocsPerRun(2, func() { run(40) })
	if each := (many - few) / 30; each > 1000 { // 1,600 with the body compiled each time, 600 without
		t.Errorf("%.0f allocations for each turn", each)
	}
	few, many = testing.AllocsPerRun(2, func() { run(400) }), testing.AllocsPerRun(2, func() { run(500) })
	if each := (many - few) / 100; each > 600 { // 3,200 if the items of earlier turns were copied
		t.Errorf("%.0f allocations for each turn after 400", each)
	}
}

// TestLoopKeepsItems: the items of a sequence that a Loop carries are not copied in it, but nothing that a run returns is an input or a weight.
func TestLoopKeepsItems(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		w, s := e.Param("w", initial.Full{Value: 3}, 1), e.Input("s", "seq(float32[1])")
		next := e.Body("next", []string{"int64[]", "bool[]", "seq(float32[1])"}, []*nn.Value{w}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			return []*nn.Value{e.Node(op.Plain("Identity"), in[1]).Out(0), e.Node(op.Plain("SequenceInsert"), in[2], in[3]).Out(0)}
		})
		e.Output("y", e.Node(std.LoopConfig{Body: next}, e.Input("trips", "int64[]"), nil, s).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	x := dtype.Scalar(float32(1))
	if err := x.Reshape(1); err != nil {
		t.Fatal(err)
	}
	in := &dtype.Sequence{Elem: dtype.Float32, Items: []dtype.Value{x}}
	for range 2 {
		out, err := g.Eval(t.Context(), nn.Feed{"trips": dtype.Scalar(int64(2)), "s": in})
		if err != nil {
			t.Fatal(err)
		}
		items := out["y"].(*dtype.Sequence).Items
		for i, want := range []float32{1, 3, 3} {
			if y := dtype.Slice[float32](items[i].(*tensor.Dense)); len(items) != 3 || y[0] != want {
				t.Fatalf("element %d of %d is %v, want %v", i, len(items), y, want)
			} else {
				y[0] = 7
			}
		}
	}
}

// TestSequenceMapNeedsValues has a body whose shapes depend on what it computes.
func TestSequenceMapNeedsValues(t *testing.T) {
	node := func(e *nn.Edit, c op.Config, in ...*nn.Value) *nn.Value { return e.Node(c, in...).Out(0) }
	body := nntest.BodyOf(t, func(e *nn.Edit) {
		where := node(e, op.Plain("NonZero"), e.Input("a", "float32[K]"))
		e.Output("b", node(e, std.FlattenConfig{}, node(e, std.CastConfig{To: dtype.Float32}, where)))
	})
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		s := node(e, std.SplitToSequenceConfig{}, e.Input("x", "float32[4]"), e.Const("two", dtype.Scalar(int64(2))))
		e.Output("y", node(e, std.ConcatFromSequenceConfig{Axis: 1}, node(e, std.SequenceMapConfig{Body: body}, s)))
	}); err != nil {
		t.Fatal(err)
	}
	x, err := dtype.FromSlice([]float32{0, 2, 3, 4}, 4)
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.Run(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	if got := dtype.Slice[float32](out[0]); !slices.Equal(got, []float32{1, 0, 1}) {
		t.Errorf("%v, want 1, 0, 1", got)
	}
}
