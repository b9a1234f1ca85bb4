package nn_test

import (
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// TestTrainableSlots has a parameter on either side of a product, and spread or divided by its norm before it is used;
// what positions are multiplied with, and a numerator, stay constants.
func TestTrainableSlots(t *testing.T) {
	shape, err := dtype.FromSlice([]int64{4, 4}, 2)
	if err != nil {
		t.Fatal(err)
	}
	node := func(e *nn.Edit, c op.Config, in ...*nn.Value) *nn.Value { return e.Node(c, in...).Out(0) }
	for name, use := range map[string]func(e *nn.Edit, x, p *nn.Value) *nn.Value{
		"MatMul": func(e *nn.Edit, x, p *nn.Value) *nn.Value { return node(e, op.Plain("MatMul"), p, x) },
		"Einsum": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			return node(e, op.EinsumConfig{Equation: "ij,jk->ik"}, x, p)
		},
		"Expand": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			return node(e, op.Plain("Add"), x, node(e, op.Plain("Expand"), p, e.Const("shape", shape)))
		},
		"Div": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			return node(e, op.Plain("Sub"), x, node(e, op.Plain("Div"), p, node(e, op.Plain("ReduceL2"), p)))
		},
		"angles": func(e *nn.Edit, x, p *nn.Value) *nn.Value {
			places := node(e, op.CastConfig{To: dtype.Float32}, e.Input("places", "int64[4,4]"))
			return node(e, op.Plain("Mul"), x, node(e, op.Plain("Cos"), node(e, op.Plain("MatMul"), p, places)))
		},
		"ratio": func(e *nn.Edit, x, p *nn.Value) *nn.Value { return node(e, op.Plain("Div"), p, x) },
	} {
		g := nn.New(name)
		if err := g.Edit(func(e *nn.Edit) {
			e.Output("y", use(e, e.Input("x", "float32[4,4]"), e.Param("p", nn.Ones{}, 4, 4)))
		}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := g.Value("p")
		if err != nil {
			t.Fatal(err)
		}
		if constant := name == "angles" || name == "ratio"; p.Param().Trainable() == constant {
			t.Errorf("%s: the parameter is %v", name, p.Param().Role())
		}
	}
}
