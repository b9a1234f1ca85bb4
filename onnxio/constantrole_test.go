package onnxio

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
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

// A mask of attention in a file is not a weight, however low its numbers are; what holds other numbers as well is one.
func TestLoadMask(t *testing.T) {
	inf := float32(math.Inf(-1))
	for name, c := range map[string]struct {
		data []float32
		role nn.Role
	}{
		"minus infinity": {[]float32{0, inf, 0, 0}, nn.Constant},
		"lowest":         {[]float32{0, -math.MaxFloat32, 0, 0}, nn.Constant},
		"Swin":           {[]float32{-100, 0, 0, -100}, nn.Constant},
		"slopes":         {[]float32{0, inf, -0.5, 0}, nn.Constant},
		"zeros":          {[]float32{0, 0, 0, 0}, nn.Weight},
		"low and more":   {[]float32{0, -100, 1, 0}, nn.Weight},
		"low alone":      {[]float32{-200, -300, -200, -300}, nn.Weight},
		"positive":       {[]float32{0, 200, 200, 0}, nn.Weight},
		"less low":       {[]float32{0, -99, -99, 0}, nn.Weight},
	} {
		g := nn.New("masked")
		if err := g.Edit(func(e *nn.Edit) {
			mask, err := dtype.FromSlice(c.data, 2, 2)
			if err != nil {
				t.Fatal(err)
			}
			e.Output("y", e.Node(op.Plain("Add"), e.Input("x", "float32[N,2,2]"), e.Const("mask", mask)).Out(0))
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
		for _, g := range []*nn.Graph{again, nntest.Clone(t, again)} {
			v, err := g.Value("mask")
			if err != nil {
				t.Fatal(err)
			}
			if got := v.Param().Role(); got != c.role {
				t.Errorf("%s: the role is %s, want %s", name, got, c.role)
			}
		}
	}
}
