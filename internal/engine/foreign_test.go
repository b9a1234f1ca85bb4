package engine

import (
	"strings"
	"testing"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/nn/dtype"
)

// stranger is an operation that is not ours: it hides the Core of a toy.
type stranger struct {
	gorgonia.Op
	overwrites int
	do         func(in []gorgonia.Value) (gorgonia.Value, error)
}

func (o *stranger) OverwritesInput() int                            { return o.overwrites }
func (o *stranger) Do(in ...gorgonia.Value) (gorgonia.Value, error) { return o.do(in) }
func strange(t *testing.T, shape tensor.Shape, overwrites int, x *gorgonia.Node, do func([]gorgonia.Value) (gorgonia.Value, error)) *gorgonia.Node {
	t.Helper()
	like := &toy{core: scale("like", shape, 1), in: []hm.Type{x.Type()}, id: toys.Add(1)}
	n, err := gorgonia.ApplyOp(&stranger{like, overwrites, do}, x)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestForeignOps(t *testing.T) {
	g := gorgonia.NewGraph()
	x := input(g, "x", dense(1, 2, 3, 4))
	a := apply(t, scale("a", tensor.Shape{4}, 1), nil, x)[0]
	spoil := func(in []gorgonia.Value) (gorgonia.Value, error) {
		clear(dtype.Slice[float32](in[0].(*tensor.Dense)))
		return in[0], nil
	}
	same := func(in []gorgonia.Value) (gorgonia.Value, error) { return in[0], nil }
	turn := func(in []gorgonia.Value) (gorgonia.Value, error) {
		d := in[0].(*tensor.Dense)
		if err := d.Reshape(2, 2); err != nil {
			return nil, err
		}
		return d, d.T()
	}
	zeros := strange(t, tensor.Shape{4}, 0, a, spoil)
	zeros2 := strange(t, tensor.Shape{4}, 0, x, spoil)
	alias := strange(t, tensor.Shape{4}, -1, x, same)
	turned := strange(t, tensor.Shape{2, 2}, -1, a, turn)
	flat := apply(t, reshape(4), nil, turned)[0]
	p := compile(t, zeros, zeros2, alias, turned, flat, a)
	for range 2 {
		run(t, p)
		wantFloats(t, "zeros", p.Value(zeros), 0, 0, 0, 0)
		wantFloats(t, "zeros", p.Value(zeros2), 0, 0, 0, 0)
		wantFloats(t, "alias", p.Value(alias), 1, 2, 3, 4)
		wantFloats(t, "turned", p.Value(turned), 1, 3, 2, 4)
		wantFloats(t, "flat", p.Value(flat), 1, 3, 2, 4)
		wantFloats(t, "a", p.Value(a), 1, 2, 3, 4)
		clear(slice(t, p.Value(alias)))
		wantFloats(t, "x", x.Value(), 1, 2, 3, 4)
	}
	for name, c := range map[string]struct {
		v    gorgonia.Value
		want string
	}{
		"nothing": {nil, "engine: like: the operation returned no value"},
		"size":    {dense(1, 2), "engine: like: got a result of type float32(2), wanted float32(4)"},
		"scalar":  {gorgonia.NewF32(1), "engine: like: got a result of type *gorgonia.F32, wanted float32(4)"},
	} {
		n := strange(t, tensor.Shape{4}, -1, x, func([]gorgonia.Value) (gorgonia.Value, error) { return c.v, nil })
		if err := compile(t, n).Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want %q", name, err, c.want)
		}
	}
}
