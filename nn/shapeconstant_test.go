package nn_test

import (
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestCutThroughConstantOfShape: the lengths from which ConstantOfShape makes a tensor follow a cut of the channels that it is
// added to, however the model spells them.
func TestCutThroughConstantOfShape(t *testing.T) {
	ints := func(e *nn.Edit, name string, v ...int) *nn.Value {
		d, err := dtype.FromInts(dtype.Int64, v, len(v))
		if err != nil {
			t.Fatal(err)
		}
		return e.Const(name, d)
	}
	scalar := func(e *nn.Edit, name string, v int) *nn.Value { return e.Const(name, dtype.Scalar(int64(v))) }
	node := func(e *nn.Edit, c op.Config, in ...*nn.Value) *nn.Value { return e.Node(c, in...).Out(0) }
	for name, shape := range map[string]func(e *nn.Edit, x *nn.Value) *nn.Value{
		"shape of a parameter": func(e *nn.Edit, x *nn.Value) *nn.Value {
			return node(e, op.Plain("Shape"), e.Param("p", initial.Ones{}, 1, 8, 1, 1))
		},
		"lengths of a parameter": func(e *nn.Edit, x *nn.Value) *nn.Value {
			s := node(e, op.Plain("Shape"), e.Param("p", initial.Ones{}, 3, 8))
			c := node(e, op.Plain("Unsqueeze"), node(e, std.GatherConfig{}, s, scalar(e, "last", -1)), ints(e, "zero", 0))
			return node(e, std.ConcatConfig{}, ints(e, "a", 1), c, ints(e, "c", 1, 1))
		},
		"constant": func(e *nn.Edit, x *nn.Value) *nn.Value { return ints(e, "s", 1, 8, 1, 1) },
		"short":    func(e *nn.Edit, x *nn.Value) *nn.Value { return ints(e, "s", 8, 1, 1) },
		"node": func(e *nn.Edit, x *nn.Value) *nn.Value {
			d, _ := dtype.FromInts(dtype.Int64, []int{1, 8, 1, 1}, 4)
			return node(e, std.ConstantConfig{Value: d})
		},
		"concat": func(e *nn.Edit, x *nn.Value) *nn.Value {
			return node(e, std.ConcatConfig{}, ints(e, "a", 1), ints(e, "b", 8), ints(e, "c", 1, 1))
		},
		"batch": func(e *nn.Edit, x *nn.Value) *nn.Value {
			n := node(e, std.GatherConfig{}, node(e, op.Plain("Shape"), x), ints(e, "zero", 0))
			return node(e, std.ConcatConfig{}, n, ints(e, "b", 8), ints(e, "c", 1, 1))
		},
		"unsqueezed": func(e *nn.Edit, x *nn.Value) *nn.Value {
			c := node(e, op.Plain("Unsqueeze"), scalar(e, "b", 8), ints(e, "zero", 0))
			return node(e, std.ConcatConfig{}, ints(e, "a", 1), c, ints(e, "c", 1, 1))
		},
		"product": func(e *nn.Edit, x *nn.Value) *nn.Value {
			c := node(e, op.Plain("Mul"), ints(e, "b", 4), ints(e, "two", 2))
			return node(e, std.ConcatConfig{}, ints(e, "a", 1), c, ints(e, "c", 1, 1))
		},
		"sum": func(e *nn.Edit, x *nn.Value) *nn.Value {
			c := node(e, op.Plain("Add"), ints(e, "b", 5), ints(e, "three", 3))
			return node(e, std.ConcatConfig{}, ints(e, "a", 1), c, ints(e, "c", 1, 1))
		},
		"gathered": func(e *nn.Edit, x *nn.Value) *nn.Value {
			c := node(e, std.GatherConfig{}, ints(e, "b", 3, 8, 4), ints(e, "one", 1))
			return node(e, std.ConcatConfig{}, ints(e, "a", 1), c, ints(e, "c", 1, 1))
		},
		"sliced": func(e *nn.Edit, x *nn.Value) *nn.Value {
			return node(e, std.SliceConfig{}, ints(e, "b", 3, 1, 8, 1, 1), ints(e, "from", 1), ints(e, "to", 5))
		},
		"where": func(e *nn.Edit, x *nn.Value) *nn.Value {
			s := ints(e, "b", 1, -1, 1, 1)
			return node(e, op.Plain("Where"), node(e, op.Plain("Equal"), s, ints(e, "m", -1)), ints(e, "f", 1, 8, 1, 1), s)
		},
		"divided": func(e *nn.Edit, x *nn.Value) *nn.Value {
			c := node(e, op.Plain("Div"), ints(e, "b", 16), ints(e, "two", 2))
			return node(e, std.ConcatConfig{}, ints(e, "a", 1), c, ints(e, "c", 1, 1))
		},
		"cast": func(e *nn.Edit, x *nn.Value) *nn.Value {
			d, _ := dtype.FromInts(dtype.Int32, []int{1, 8, 1, 1}, 4)
			return node(e, std.CastConfig{To: dtype.Int64}, e.Const("b", d))
		},
		"batch product": func(e *nn.Edit, x *nn.Value) *nn.Value {
			n := node(e, std.GatherConfig{}, node(e, op.Plain("Shape"), x), ints(e, "zero", 0))
			c := node(e, op.Plain("Mul"), ints(e, "b", 8), ints(e, "one", 1))
			return node(e, std.ConcatConfig{}, n, c, ints(e, "c", 1, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := nn.New("g")
			err := g.Edit(func(e *nn.Edit) {
				x := e.Input("x", "float32[N,3,4,4]")
				c := e.Node(std.ConvConfig{}, x, e.Param("w", initial.Ones{}, 8, 3, 1, 1))
				e.RenameNode(c, "conv")
				y := c.Out(0)
				one, _ := dtype.FromSlice([]float32{2}, 1)
				y = node(e, op.Plain("Add"), y, node(e, std.ConstantOfShapeConfig{Value: one}, shape(e, x)))
				e.Output("y", node(e, std.ConvConfig{}, y, e.Param("v", initial.Ones{}, 2, 8, 1, 1)))
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Edit(func(e *nn.Edit) { e.RemoveChannels(e.Find(nn.Glob("conv")), 2) }); err != nil {
				t.Fatal(err)
			}
			for _, batch := range []int{1, 2} {
				x := dtype.New(dtype.Float32, batch, 3, 4, 4)
				out, err := g.Eval(t.Context(), nn.Feed{"x": x}, "y")
				if err != nil {
					t.Fatal(err)
				}
				if y := dtype.Slice[float32](out["y"].(*tensor.Dense))[0]; y != 12 {
					t.Errorf("got %g, want 12", y)
				}
			}
		})
	}
}

// TestCutThroughShapeOfParameter checks that a parameter whose shape is read elsewhere is cut together
// with the value that has its shape.
func TestCutThroughShapeOfParameter(t *testing.T) {
	for _, to := range []int{6, 10} {
		g := nn.New("g")
		err := g.Edit(func(e *nn.Edit) {
			node := func(c op.Config, in ...*nn.Value) *nn.Value { return e.Node(c, in...).Out(0) }
			c := e.Node(std.ConvConfig{}, e.Input("x", "float32[N,3,4,4]"), e.Param("w", initial.Ones{}, 8, 3, 1, 1))
			e.RenameNode(c, "conv")
			p := e.Param("p", initial.Ones{}, 8, 1, 1)
			one, err := dtype.FromSlice([]float32{2}, 1)
			if err != nil {
				t.Fatal(err)
			}
			z := node(op.Plain("Mul"), node(std.ConstantOfShapeConfig{Value: one}, node(op.Plain("Shape"), p)), p)
			y := node(op.Plain("Add"), c.Out(0), z)
			e.Output("y", node(std.ConvConfig{}, y, e.Param("v", initial.Ones{}, 2, 8, 1, 1)))
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Edit(func(e *nn.Edit) { e.SetChannels(e.Find(nn.Glob("conv")), to) }); err != nil {
			t.Fatal(err)
		}
		if p, err := g.Value("p"); err != nil || p.Param().Data().Shape()[0] != to {
			t.Errorf("the parameter is %v (%v), want %d channels", p.Type(), err, to)
		}
		if _, err := g.Eval(t.Context(), nn.Feed{"x": dtype.New(dtype.Float32, 2, 3, 4, 4)}, "y"); err != nil {
			t.Error(err)
		}
	}
}
