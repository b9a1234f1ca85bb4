package op

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestEmittedCore checks what a call passes to the engine about its inputs and outputs: absent ones,
// and the key of its formal ones.
func TestEmittedCore(t *testing.T) {
	f := Shaped(dtype.Float32, 2)
	draws := probe(func(o *Op) {
		o.Random, o.NoGrad = true, ""
		o.Grad = func(_ *Call, _, _, dout gorgonia.Nodes) (gorgonia.Nodes, error) { return gorgonia.Nodes{dout[0]}, nil }
		o.Infer = func(c *Call) ([]Type, error) { return []Type{f, {}, f}, nil }
	})
	g := gorgonia.NewGraph()
	node := func(n *gorgonia.Node, err error) *gorgonia.Node {
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	x, w := node(Input(g, "x", f, nil)), node(Input(g, "w", f, nil))
	key := node(Input(g, "key", Shaped(dtype.Uint64, 2), nil))
	call, err := NewSet([]*Op{draws}).NewCall(draws, f, Type{}, Type{})
	if err != nil {
		t.Fatal(err)
	}
	call.Outputs, call.Want = 3, []bool{true, false, true}
	if err := call.Resolve(); err != nil {
		t.Fatal(err)
	}
	out, err := Emit(g, call, gorgonia.Nodes{x, nil, nil}, key)
	if err != nil {
		t.Fatal(err)
	}
	e := out[0].Op().(*expr)
	if c := e.core; c.Name != "Probe" || c.Inputs != 5 || fmt.Sprint(c.Slots) != "[0 3]" || len(c.Out) != 3 || c.Out[1].DType != (engine.Spec{}).DType || c.Out[2].Shape[0] != 2 {
		t.Errorf("the engine is told of %+v", e.core)
	}
	if out[1] != nil || out[2] == nil {
		t.Errorf("nodes of an output that nobody wants: %v", out)
	}
	if got := fmt.Sprint(e.DiffWRT(2)); got != "[true false]" {
		t.Errorf("a key has a gradient: %s", got)
	}
	if c, in, i, ok := CallOf(out[2]); !ok || c != call || in[0] != x || i != 2 {
		t.Errorf("the call behind a node: %v, %v, output %d, %v", c, in, i, ok)
	}
	if _, _, _, ok := CallOf(w); ok {
		t.Error("an input is behind a call")
	}
}

// A tensor of rank 0 gets a header of its own, since Gorgonia reshapes it; others are bound as they are.
func TestBind(t *testing.T) {
	g := gorgonia.NewGraph()
	for _, v := range []*tensor.Dense{dtype.Scalar(float32(3)), dtype.New(dtype.Float32, 2)} {
		n, err := Const(g, v)
		if err != nil {
			t.Fatal(err)
		}
		if own := n.Value() != gorgonia.Value(v); own != (v.Dims() == 0) {
			t.Errorf("%v is bound with a header of its own: %v", TypeOf(v), own)
		}
		if !IsConst(n) {
			t.Errorf("%v is not a constant", n)
		}
	}
	_, err := Input(g, "x", T(dtype.Float32, Sym("N")), nil)
	wants(t, "symbol", err, "lower: input x: want a static shape, got float32[N]")
}

// The text of errors, of types with numbers, and of dimensions without elements.
func TestTexts(t *testing.T) {
	for want, err := range map[string]error{
		"":                                       &Error{},
		"Conv c":                                 &Error{Op: "Conv", Node: "c"},
		"lower: Conv: input W: want 1, got 2":    &Error{Stage: "lower", Op: "Conv", Input: "W", Want: 1, Got: 2},
		"run: want a: first second":              &Error{Stage: "run", Want: "a", Err: errors.New("first\nsecond")},
		"got 2":                                  &Error{Got: 2},
		"input x: is missing":                    &Error{Input: "x", Err: errors.New("is missing")},
		"gradient: Gemm fc: want (2), got (2,3)": &Error{Stage: "gradient", Op: "Gemm", Node: "fc", Want: "(2)", Got: "(2,3)"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	typ := T(dtype.Float32, Dim{2, "N"}, Sym("H"), Unknown(), D(0))
	if got := typ.String() + " " + typ.Concrete(); got != "float32[N,H,?,0] float32[2,H,?,0]" {
		t.Errorf("got %s", got)
	}
	if !D(0).Known() || Unknown().Known() || !Shaped(dtype.Int8, 0).Static() {
		t.Error("a dimension without elements has a number")
	}
}

// TestCheckGradients: the first operator without a gradient is named that lies between what is differentiated and what for.
func TestCheckGradients(t *testing.T) {
	lost := probe(func(o *Op) { o.NoGrad, o.GradMissing, o.Domain = "", "nobody wrote it", "my" })
	f := Shaped(dtype.Float32, 2)
	g := gorgonia.NewGraph()
	input := func(name string) *gorgonia.Node {
		n, err := Input(g, name, f, nil)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	x, y := input("x"), input("y")
	call, err := NewSet([]*Op{lost}).NewCall(lost, f)
	if err != nil {
		t.Fatal(err)
	}
	call.Outputs, call.Node = 1, "middle"
	if err := call.Resolve(); err != nil {
		t.Fatal(err)
	}
	out, err := Emit(g, call, gorgonia.Nodes{x})
	if err != nil {
		t.Fatal(err)
	}
	sum := gorgonia.Must(gorgonia.Add(gorgonia.Must(gorgonia.Tanh(out[0])), gorgonia.Must(gorgonia.Tanh(y))))
	for _, c := range []struct {
		of, wrt gorgonia.Nodes
		want    string
	}{
		{gorgonia.Nodes{sum}, gorgonia.Nodes{x}, "my.Probe middle: has no gradient (nobody wrote it)"},
		{gorgonia.Nodes{nil, y, sum}, gorgonia.Nodes{y, x}, "my.Probe middle: has no gradient (nobody wrote it)"},
		{gorgonia.Nodes{sum}, gorgonia.Nodes{y}, ""},
		{gorgonia.Nodes{sum}, nil, ""},
		{gorgonia.Nodes{y}, gorgonia.Nodes{x}, ""},
		{gorgonia.Nodes{sum}, gorgonia.Nodes{out[0]}, ""},
		{nil, gorgonia.Nodes{x}, ""},
	} {
		wants(t, fmt.Sprint(c.of, " by ", c.wrt), CheckGradients(t.Context(), c.of, c.wrt), c.want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	wants(t, "ended", CheckGradients(ended, gorgonia.Nodes{sum}, gorgonia.Nodes{y}), "context canceled")
}
