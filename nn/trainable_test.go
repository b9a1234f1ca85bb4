package nn_test

import (
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestTrainableSlots has a parameter on either side of a product, and spread or divided by its norm before it is used;
// what positions or times are multiplied with, if only sines read the product, and a numerator, stay constants.
func TestTrainableSlots(t *testing.T) {
	shape, err := dtype.FromSlice([]int64{4, 4}, 2)
	if err != nil {
		t.Fatal(err)
	}
	node := func(e *nn.Edit, c op.Config, in ...*nn.Value) *nn.Value { return e.Node(c, in...).Out(0) }
	for name, use := range map[string]func(e *nn.Edit, x, p *nn.Value) *nn.Value{
		"MatMul": func(e *nn.Edit, x, p *nn.Value) *nn.Value { return node(e, op.Plain("MatMul"), p, x) },
		"Einsum": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			return node(e, std.EinsumConfig{Equation: "ij,jk->ik"}, x, p)
		},
		"Expand": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			return node(e, op.Plain("Add"), x, node(e, op.Plain("Expand"), p, e.Const("shape", shape)))
		},
		"Div": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			return node(e, op.Plain("Sub"), x, node(e, op.Plain("Div"), p, node(e, op.Plain("ReduceL2"), p)))
		},
		"angles": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			places := node(e, std.CastConfig{To: dtype.Float32}, e.Input("places", "int64[4,4]"))
			return node(e, op.Plain("Mul"), x, node(e, op.Plain("Cos"), node(e, op.Plain("MatMul"), p, places)))
		},
		"frequencies": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			times := node(e, std.CastConfig{To: dtype.Float32}, e.Input("times", "int64[4,1]"))
			turns := node(e, op.Plain("Mul"), times, p)
			phase := node(e, op.Plain("Mul"), turns, e.Scalar("tau", turns, 6.28))
			return node(e, op.Plain("Add"), node(e, op.Plain("Mul"), x, node(e, op.Plain("Cos"), phase)), node(e, op.Plain("Sin"), turns))
		},
		"projected times": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			times := node(e, std.CastConfig{To: dtype.Float32}, e.Input("times", "int64[4,4]"))
			return node(e, op.Plain("Add"), x, node(e, op.Plain("Sin"), node(e, op.Plain("MatMul"), times, p)))
		},
		"mask token": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			mask := node(e, std.CastConfig{To: dtype.Float32}, e.Input("mask", "bool[4,1]"))
			return node(e, op.Plain("Sin"), node(e, op.Plain("Add"), x, node(e, op.Plain("Mul"), mask, p)))
		},
		"periodic and not": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			y := node(e, op.Plain("Mul"), node(e, std.CastConfig{To: dtype.Float32}, e.Input("times", "int64[4,1]")), p)
			return node(e, op.Plain("Add"), node(e, op.Plain("Mul"), x, y), node(e, op.Plain("Sin"), y))
		},
		"activation": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			return node(e, op.Plain("Sin"), node(e, op.Plain("MatMul"), x, p))
		},
		"a weight as sine": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			angle := node(e, op.Plain("Mul"), p, e.Param("scale", initial.Ones{}, 4, 4))
			return node(e, op.Plain("MatMul"), x, node(e, op.Plain("Sin"), angle))
		},
		"ratio": func(e *nn.Edit, x, p *nn.Value) *nn.Value { return node(e, op.Plain("Div"), p, x) },
	} {
		g := nn.New(name)
		if err := g.Edit(func(e *nn.Edit) {
			e.Output("y", use(e, e.Input("x", "float32[4,4]"), e.Param("p", initial.Ones{}, 4, 4)))
		}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := g.Value("p")
		if err != nil {
			t.Fatal(err)
		}
		constant := slices.Contains([]string{"angles", "frequencies", "projected times", "ratio"}, name)
		if p.Param().Trainable() == constant {
			t.Errorf("%s: the parameter is %v", name, p.Param().Role())
		}
	}
}

// TestTrainableBehind has parameters that meet the network after other operators: rates learned by their logarithms,
// parts of one tensor, queries spread over the batch. Positions that are projected stay constants.
func TestTrainableBehind(t *testing.T) {
	axis, err := dtype.FromSlice([]int64{0}, 1)
	if err != nil {
		t.Fatal(err)
	}
	spread, err := dtype.FromSlice([]int64{2, 4, 4}, 3)
	if err != nil {
		t.Fatal(err)
	}
	node := func(e *nn.Edit, c op.Config, in ...*nn.Value) *nn.Value { return e.Node(c, in...).Out(0) }
	for name, use := range map[string]func(e *nn.Edit, x, p *nn.Value) *nn.Value{
		"Exp": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			return node(e, op.Plain("Mul"), x, node(e, op.Plain("Neg"), node(e, op.Plain("Exp"), p)))
		},
		"Split": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			parts := e.NodeN(std.SplitConfig{Axis: 1, NumOutputs: 2}, 2, p)
			return node(e, op.Plain("MatMul"), x, parts.Out(1))
		},
		"queries": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			q := node(e, op.Plain("Expand"), p, e.Const("spread", spread))
			q = node(e, op.Plain("MatMul"), q, e.Param("w", initial.Ones{}, 4, 4))
			return node(e, op.Plain("MatMul"), q, x)
		},
		"state": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			h := node(e, op.Plain("Expand"), p, e.Const("spread", spread))
			steps := node(e, op.Plain("Unsqueeze"), x, e.Const("axis", axis))
			r := e.NodeN(std.RNNConfig{HiddenSize: 4, Direction: "bidirectional"}, 2, node(e, op.Plain("Expand"), steps, e.Const("steps", spread)),
				e.Param("w", initial.Ones{}, 2, 4, 4), e.Param("r", initial.Ones{}, 2, 4, 4), nil, nil, h)
			return r.Out(1)
		},
		"image": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			start := node(e, op.Plain("Expand"), p, e.Const("spread", spread))
			return node(e, op.Plain("Add"), x, node(e, std.ConvConfig{}, start, e.Param("w", initial.Ones{}, 4, 4, 1)))
		},
		"places beside data": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			places := node(e, op.Plain("Expand"), p, e.Const("spread", spread))
			both := node(e, std.ConcatConfig{Axis: 1}, places, node(e, op.Plain("Expand"), x, e.Const("steps", spread)))
			return node(e, std.ConvConfig{}, both, e.Param("w", initial.Ones{}, 4, 8, 1))
		},
		"centered": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			return node(e, op.Plain("MatMul"), x, node(e, op.Plain("Sqrt"), node(e, op.Plain("Sub"), p, node(e, op.Plain("ReduceMean"), p))))
		},
		"projected": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			return node(e, op.Plain("Add"), x, node(e, op.Plain("MatMul"), p, e.Param("w", initial.Ones{}, 4, 4)))
		},
		"bound": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			return node(e, op.Plain("Mul"), x, node(e, op.Plain("Relu"), node(e, op.Plain("Sub"), x, p)))
		},
	} {
		g := nn.New(name)
		if err := g.Edit(func(e *nn.Edit) {
			e.Output("y", use(e, e.Input("x", "float32[4,4]"), e.Param("p", initial.Ones{}, 4, 4)))
		}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := g.Value("p")
		if err != nil {
			t.Fatal(err)
		}
		if constant := name == "projected" || name == "bound" || name == "places beside data"; p.Param().Trainable() == constant {
			t.Errorf("%s: the parameter is %v", name, p.Param().Role())
		}
	}
}

// TestRoleFollowsEdits has a matrix meet the numbers of a network, then places, then numbers again.
func TestRoleFollowsEdits(t *testing.T) {
	g := nn.New("edited")
	var product *nn.Node
	var numbers, places *nn.Value
	edit := func(f func(e *nn.Edit)) {
		t.Helper()
		if err := g.Edit(f); err != nil {
			t.Fatal(err)
		}
	}
	edit(func(e *nn.Edit) {
		numbers = e.Node(op.Plain("Relu"), e.Input("x", "float32[4,4]")).Out(0)
		places = e.Node(std.CastConfig{To: dtype.Float32}, e.Input("places", "int64[4,4]")).Out(0)
		product = e.Node(op.Plain("MatMul"), e.Param("p", initial.Ones{}, 4, 4), numbers)
		e.Output("y", e.Node(op.Plain("Add"), product.Out(0), places).Out(0))
	})
	role := func() nn.Role { return product.In(0).Param().Role() }
	if role() != nn.Weight {
		t.Error("beside numbers: ", role())
	}
	edit(func(e *nn.Edit) { e.Rewire(numbers, places, product) })
	if role() != nn.Constant {
		t.Error("beside places: ", role())
	}
	if err := g.Edit(func(e *nn.Edit) {
		e.Rewire(places, numbers, product)
		if role() != nn.Weight {
			t.Error("within the edit: ", role())
		}
		e.Failf("taken back")
	}); err == nil {
		t.Fatal("no error")
	}
	if role() != nn.Constant {
		t.Error("taken back: ", role())
	}
}
