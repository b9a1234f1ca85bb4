package nn_test

import (
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

// mixed computes in t, by way of attributes that name types, tensors among attributes and both branches of an If.
func mixed(t *testing.T, typ op.DType) *nn.Graph {
	t.Helper()
	name := typ.String()
	like := func(x ...float32) *tensor.Dense {
		d, err := dtype.FromSlice(x, len(x))
		if err == nil {
			d, err = dtype.ConvertTo(typ, d)
		}
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	g := nn.New("mixed")
	nntest.Edit(t, g, func(e *nn.Edit) {
		x, ids, cond := e.Input("x", name+"[N,3]"), e.Input("ids", "int32[N,3]"), e.Input("cond", "bool[]")
		y := e.Node(op.Plain("Mul"), x, e.ParamOf("w", typ, initial.Values{Data: []float64{0.5, -2, 3}}, 3)).Out(0)
		y = e.Node(op.Plain("Add"), y, e.Node(std.CastConfig{To: typ}, ids).Out(0)).Out(0)
		shape := e.Node(op.Plain("Shape"), ids).Out(0)
		y = e.Node(op.Plain("Add"), y, e.Node(std.ConstantOfShapeConfig{Value: like(1.5)}, shape).Out(0)).Out(0)
		branch := func(k float32) func(e *nn.Edit, _ ...*nn.Value) []*nn.Value {
			return func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
				return []*nn.Value{e.Node(op.Plain("Mul"), in[0], e.Const("k", like(k))).Out(0)}
			}
		}
		then := e.Body("then", nil, []*nn.Value{y}, branch(2))
		other := e.Body("else", nil, []*nn.Value{y}, branch(-1))
		if e.Err() == nil {
			e.Output("y", e.Node(std.IfConfig{Then: then, Else: other}, cond).Out(0))
			e.Output("ids out", e.Node(op.Plain("Identity"), ids).Out(0))
		}
	})
	return g
}

func TestComputeIn(t *testing.T) {
	x, _ := dtype.FromSlice([]float32{1, 2, 3, -4, 5, 6}, 2, 3)
	ids, _ := dtype.FromSlice([]int32{1, 2, 3, 4, 5, 6}, 2, 3)
	want := map[bool][]float32{true: {6, -1, 27, 7, -7, 51}, false: {-3, 0.5, -13.5, -3.5, 3.5, -25.5}}
	for _, from := range []op.DType{dtype.Float16, dtype.BFloat16, dtype.Float32, dtype.Float64} {
		for _, to := range []op.DType{dtype.Float32, dtype.Float64} {
			g := mixed(t, from)
			nntest.Edit(t, g, func(e *nn.Edit) { e.ComputeIn(to) })
			for _, cond := range []bool{true, false} {
				in, err := dtype.ConvertTo(to, x)
				if err != nil {
					t.Fatal(err)
				}
				out, err := g.Eval(t.Context(), nn.Feed{"x": in, "ids": ids, "cond": dtype.Scalar(cond)})
				if err != nil {
					t.Fatalf("%v to %v: %v", from, to, err)
				}
				y := out["y"].(*tensor.Dense)
				got, err := dtype.ConvertTo(dtype.Float32, y)
				if err != nil || dtype.Of(y.Dtype()) != to {
					t.Fatalf("%v to %v: %v in %v", from, to, err, y.Dtype())
				}
				for i, v := range dtype.Slice[float32](got) {
					if v != want[cond][i] {
						t.Errorf("%v to %v, %v: element %d is %g, want %g", from, to, cond, i, v, want[cond][i])
					}
				}
			}
			if w, err := g.Value("w"); err != nil || w.Type().DType != to || w.Param().Trainable() != true {
				t.Errorf("%v to %v: w is %v, %v", from, to, w.Type(), err)
			}
		}
	}
}

func TestComputeInIsTakenBack(t *testing.T) {
	g := mixed(t, dtype.Float16)
	before := nntest.Dump(g)
	p, err := g.Plan(func(e *nn.Edit) { e.ComputeIn(dtype.Float32) })
	if err != nil {
		t.Fatal(err)
	}
	if after := nntest.Dump(g); after != before {
		t.Error(diff(before, after))
	}
	if err := p.Apply(); err != nil {
		t.Fatal(err)
	}
	if nntest.Dump(g) == before {
		t.Error("the plan changes nothing")
	}
	if err := p.Undo(); err != nil {
		t.Fatal(err)
	}
	if after := nntest.Dump(g); after != before {
		t.Error(diff(before, after))
	}
}

func TestComputeInRefuses(t *testing.T) {
	for _, typ := range []op.DType{dtype.Float16, dtype.Int32, dtype.Undefined} {
		g := mixed(t, dtype.Float32)
		err := g.Edit(func(e *nn.Edit) { e.ComputeIn(typ) })
		if err == nil || !strings.Contains(err.Error(), "want float32 or float64") {
			t.Errorf("%v: %v", typ, err)
		}
	}
}
