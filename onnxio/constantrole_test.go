package onnxio

import (
	"bytes"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// A floating-point tensor that Edit.SetRole called a constant is not trained after a file, either, and the parameters beside it
// stay what they are: initializers.
func TestSaveConstantRole(t *testing.T) {
	vector := func(x ...float32) *nn.Graph {
		g := nn.New("masked")
		err := g.Edit(func(e *nn.Edit) {
			mask, err := dtype.FromSlice(x, len(x))
			if err != nil {
				t.Fatal(err)
			}
			bias, err := dtype.FromSlice(x, len(x))
			if err != nil {
				t.Fatal(err)
			}
			m := e.Const("mask", mask)
			e.SetRole(m, nn.Constant)
			scale := e.Node(op.Plain("Mul"), e.Input("x", "float32[N,2]"), e.Const("scale", bias)).Out(0)
			e.Output("y", e.Node(op.Plain("Add"), scale, m).Out(0))
		})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	g := vector(1, -3)
	want := eval(t, g, 2, 2)
	for range 2 { // what was loaded is saved again
		var b bytes.Buffer
		if err := Write(&b, g); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		var params []string
		for p := range again.Params() {
			if params = append(params, p.Name()); !p.Trainable() {
				t.Errorf("%s does not train", p.Name())
			}
		}
		if !slices.Equal(params, []string{"scale"}) {
			t.Errorf("the file has the parameters %v, want scale alone", params)
		}
		if got := eval(t, again, 2, 2); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		g = again
	}
}

// A parameter that its operators make a constant is an initializer as before, and so is one of a role by hand that they agree with.
func TestSaveConstantByUse(t *testing.T) {
	g := nn.New("sizes")
	if err := g.Edit(func(e *nn.Edit) {
		shape := e.Ints("shape", 2, -1)
		e.SetRole(shape, nn.Constant)
		e.Output("y", e.Node(op.Plain("Reshape"), e.Input("x", "float32[2,2]"), shape).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, g); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for p := range again.Params() {
		if count++; p.Name() != "shape" || p.Role() != nn.Constant {
			t.Errorf("%s is a parameter of role %s", p.Name(), p.Role())
		}
	}
	if count != 1 {
		t.Errorf("the file has %d parameters, want shape", count)
	}
}
