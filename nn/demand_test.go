package nn_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	G "gorgonia.org/gorgonia"
)

// A length may follow from 256 integers available, of which floating-point numbers count as 64 each; beyond that a run has stages, and
// Lower refuses.
func TestLengthsAtHand(t *testing.T) {
	for _, c := range []struct {
		ints, floats int
		one          bool // expression graph
	}{
		{256, 0, true}, {257, 0, false}, {0, 4, true}, {0, 5, false}, {192, 1, true}, {193, 1, false},
	} {
		g := nn.New("lengths")
		feed := nn.Feed{}
		if err := g.Edit(func(e *nn.Edit) {
			shape := e.Ints("shape", 2)
			add := func(name string, d op.DType, n int) {
				if n == 0 {
					return
				}
				v := e.Node(op.Plain("ReduceMax"), e.Input(name, fmt.Sprintf("%v[%d]", d, n))).Out(0)
				shape = e.Node(op.Plain("Add"), shape, e.Node(std.CastConfig{To: dtype.Int64}, v).Out(0)).Out(0)
				feed[name] = dtype.New(d, n)
			}
			add("ints", dtype.Int64, c.ints)
			add("floats", dtype.Float32, c.floats)
			e.Output("y", e.Node(std.ConstantOfShapeConfig{}, shape).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Lower(nn.LowerOptions{Feed: feed}); (err == nil) != c.one {
			t.Errorf("%d integers and %d floats: %v", c.ints, c.floats, err)
		}
		out, err := g.Eval(t.Context(), feed)
		if err != nil || fmt.Sprint(out["y"].Shape()) != "(2)" {
			t.Errorf("%d integers and %d floats: %v %v", c.ints, c.floats, out["y"], err)
		}
	}
}

// TestSameKnown checks that every field of an inferred value is compared.
func TestSameKnown(t *testing.T) {
	typ := op.T(dtype.Int64, op.D(2))
	d := dtype.New(dtype.Int64, 2)
	known := op.Known{Value: d, Dims: []op.Dim{op.D(-1), op.Sym("N")}}
	if !nn.SameKnown(typ, op.T(dtype.Int64, op.D(2)), known, known) {
		t.Error("the same is another")
	}
	list, unranked, other := typ, typ, known
	list.Kind, list.Elem = op.Sequence, &typ
	unranked.Unranked = true
	for name, x := range map[string]op.Type{"type": op.T(dtype.Int32, op.D(2)), "length": op.T(dtype.Int64, op.D(3)), "rank": op.T(dtype.Int64, op.D(2), op.D(2)), "kind": list, "unranked": unranked} {
		if nn.SameKnown(typ, x, known, known) || nn.SameKnown(x, typ, known, known) {
			t.Errorf("another %s is the same", name)
		}
	}
	other.Exact = true
	for name, k := range map[string]op.Known{"exactness": other, "value": {Value: dtype.New(dtype.Int64, 2), Dims: known.Dims}, "dimensions": {Value: d}} {
		if nn.SameKnown(typ, typ, known, k) || nn.SameKnown(typ, typ, k, known) {
			t.Errorf("another %s is the same", name)
		}
	}
}

// A condition that fails is not asked again.
func TestWhileConditionFails(t *testing.T) {
	broken := errors.New("broken")
	asked := 0
	cond := func(...*G.Node) (*G.Node, error) {
		asked++
		return nil, broken
	}
	x := G.NewVector(G.NewGraph(), G.Float32, G.WithShape(2), G.WithName("x"))
	_, err := nn.While(cond, func(x ...*G.Node) (G.Nodes, error) { return x, nil }, x)
	if !errors.Is(err, broken) || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
