package op

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// emitted returns the first output of a call of o on inputs of the given types, which are variables.
func emitted(o *Op, outputs int, want []bool, types ...Type) (*gorgonia.Node, error) {
	g := gorgonia.NewGraph()
	set, err := NewSet(nil).With(o)
	if err != nil {
		return nil, err
	}
	call, err := set.NewCall(o, types...)
	if err != nil {
		return nil, err
	}
	call.Node, call.Outputs, call.Want = "n", outputs, want
	if err := call.Resolve(); err != nil {
		return nil, err
	}
	in := make(gorgonia.Nodes, len(types))
	for i, t := range types {
		if t.Present() {
			var v dtype.Value = &dtype.Strings{Dims: t.Sizes(), Elems: make([]string, t.Elements())}
			if t.DType != dtype.String {
				v = dtype.New(t.DType, t.Sizes()...)
			}
			if in[i], err = Input(g, fmt.Sprint("in", i), t, v); err != nil {
				return nil, err
			}
		}
	}
	out, err := Emit(g, call, in)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// TestGradients checks which inputs have gradients, by role and type, and what the gradient of one of several
// outputs is given.
func TestGradients(t *testing.T) {
	f, i64 := Shaped(dtype.Float32, 2), Shaped(dtype.Int64, 2)
	var outs, douts []bool
	present := func(list gorgonia.Nodes) (b []bool) {
		for _, n := range list {
			b = append(b, n != nil)
		}
		return b
	}
	grads := func(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
		outs, douts = present(out), present(dout)
		return gorgonia.Nodes{dout[slices.IndexFunc(dout, func(n *gorgonia.Node) bool { return n != nil })]}, nil
	}
	roles := func(o *Op) {
		o.NoGrad, o.Grad, o.Where = "", grads, nil
		o.In, o.Out = "X T, W T weight, S T state, H T shape, G T given, F T fixed, I int64", "Y T, Z U"
	}
	state := func(o *Op) { roles(o); o.State = func(*Call) []Update { return []Update{{Out: 1, In: 2}} } }
	stateless := func(o *Op) { roles(o); o.State = func(*Call) []Update { return nil } }
	none := func(o *Op) {
		o.In, o.Where = "X T, W T weight, S T state, H T shape, G T given, F T fixed, I int64", nil
	}
	integer := func(o *Op) { roles(o); o.Infer = func(*Call) ([]Type, error) { return []Type{i64}, nil } }
	for i, c := range []struct {
		change func(*Op)
		want   string
	}{{roles, "[true true true false false false false]"}, {state, "[true true false false false false false]"},
		{stateless, "[true true true false false false false]"},
		{none, "[false false false false false false false]"}, {integer, "[false false false false false false false]"}} {
		n, err := emitted(probe(c.change), 1, nil, f, f, f, f, f, f, i64)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(n.Op().(*expr).DiffWRT(7)); got != c.want {
			t.Errorf("%d: got %s, want %s", i, got, c.want)
		}
	}
	second := func(u Type) func(*Op) {
		return func(o *Op) {
			o.NoGrad, o.Grad, o.In, o.Out, o.Where = "", grads, "X T, W? T", "Y T, Z U", nil
			o.Infer = func(c *Call) ([]Type, error) { return []Type{c.In[0], u}[:c.Outputs], nil }
			o.Hidden = func(*Call) []Type { return []Type{f} }
		}
	}
	for i, c := range []struct {
		second  Type
		outputs int
		want    []bool
		several bool
		outs    string
	}{
		{f, 2, nil, true, "[true true true]"}, {f, 2, []bool{true, false}, false, "[true false true]"},
		{i64, 2, nil, false, "[true true true]"}, {f, 1, nil, false, "[true false true]"},
	} {
		n, err := emitted(probe(second(c.second)), c.outputs, c.want, f, f)
		if err != nil {
			t.Fatal(err)
		}
		d, err := n.Op().(*expr).SymDiff(nil, nil, n)
		if err != nil {
			t.Fatal(err)
		}
		if len(d) != 2 || d[0] == nil || d[1] == nil { // Gorgonia wants a node for each, zeros where there is no gradient
			t.Fatalf("%d: gradients %v", i, d)
		}
		if got := n.Op().(*expr).several(); got != c.several {
			t.Errorf("%d: several outputs have gradients: %v, want %v", i, got, c.several)
		}
		if got := fmt.Sprint(outs); got != c.outs || !douts[0] || len(douts) != c.outputs {
			t.Errorf("%d: the gradient was given outputs %s and gradients %v, want outputs %s", i, got, douts, c.outs)
		}
	}
	for outputs := 1; outputs <= 2; outputs++ {
		hidden, err := emitted(probe(second(f)), outputs, nil, f, f)
		if err != nil {
			t.Fatal(err)
		}
		if hidden, err = Sibling(hidden, 2); err != nil || slices.Contains(hidden.Op().(*expr).DiffWRT(2), true) {
			t.Errorf("a hidden output has no gradient: %v, %v", hidden, err)
		}
	}
	n, err := emitted(probe(func(o *Op) {
		second(f)(o)
		o.Grad = func(c *Call, in, _, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			return gorgonia.Nodes{nil, in[1], dout[0]}, nil
		}
	}), 1, nil, f, Shaped(dtype.Float32, 3))
	if err != nil {
		t.Fatal(err)
	}
	if d, err := n.Op().(*expr).SymDiff(nil, nil, n); err != nil || !slices.Equal(d[1].Shape(), tensor.Shape{3}) {
		t.Errorf("got %v, %v", d, err)
	}
	n, err = emitted(probe(func(o *Op) {
		second(f)(o)
		o.Grad = func(c *Call, in, _, dout gorgonia.Nodes) (gorgonia.Nodes, error) { return gorgonia.Nodes{in[1]}, nil }
	}), 1, nil, f, Shaped(dtype.Float32, 3))
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.Op().(*expr).SymDiff(nil, nil, n)
	wants(t, "shape", err, "gradient: Probe n: input X: want (2), got (3)")
}
