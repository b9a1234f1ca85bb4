package onnxio

import (
	"bytes"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// Parameters that a model passes to its own functions are what the functions use them for.
func TestRolesInFunctions(t *testing.T) {
	tensors := func(names ...string) (s string) {
		for _, name := range names {
			s += `initializer { name: "` + name + `" data_type: 1 dims: 2 float_data: [1, 2] }`
		}
		return s
	}
	g, err := Read(bytes.NewReader(fullModel(t, `ir_version: 8 opset_import { version: 17 } opset_import { domain: "own" version: 1 } graph { name: "g"
		input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } dim { dim_value: 2 } } } } }
		output `+float("y", "")+tensors("gain", "bias", "mean", "variance", "floor")+`
		node { op_type: "Outer" domain: "own" input: "x" input: "gain" input: "bias" input: "mean" input: "variance" input: "floor" output: "y" } }
		functions { name: "Outer" domain: "own" input: "x" input: "g" input: "b" input: "m" input: "v" input: "f" output: "y"
			opset_import { version: 17 } opset_import { domain: "own" version: 1 }
			node { op_type: "Inner" domain: "own" input: "x" input: "g" input: "b" input: "m" input: "v" output: "n" }
			node { op_type: "Less" input: "n" input: "f" output: "low" }
			node { op_type: "Where" input: "low" input: "x" input: "n" output: "y" } }
		functions { name: "Inner" domain: "own" input: "x" input: "g" input: "b" input: "m" input: "v" output: "y" opset_import { version: 17 }
			node { op_type: "BatchNormalization" input: "x" input: "g" input: "b" input: "m" input: "v" output: "y" } }`)))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]nn.Role{"gain": nn.Weight, "bias": nn.Weight, "mean": nn.Statistic, "variance": nn.Statistic, "floor": nn.Constant} {
		v, err := g.Value(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Param().Role(); got != want {
			t.Errorf("%s is a %v, want %v", name, got, want)
		}
	}
	err = g.Edit(func(e *nn.Edit) {
		if got := e.New("b"); got != "b" {
			t.Errorf("a new value would be named %s, although b is only a name in the functions", got)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A constant that Edit.SetRole made a weight is one when it is loaded, until it is made a constant.
func TestSaveWeightRole(t *testing.T) {
	g := nn.New("state")
	set := func(g *nn.Graph, r nn.Role) {
		t.Helper()
		v, err := g.Value("h")
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Edit(func(e *nn.Edit) { e.SetRole(v, r) }); err != nil {
			t.Fatal(err)
		}
	}
	err := g.Edit(func(e *nn.Edit) {
		h, err := dtype.FromSlice([]float32{1, 2}, 2)
		if err != nil {
			t.Fatal(err)
		}
		e.Output("y", e.Node(op.Plain("Less"), e.Input("x", "float32[2]"), e.Const("h", h)).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []nn.Role{nn.Constant, nn.Weight, nn.Weight, nn.Constant} {
		set(g, want)
		var b bytes.Buffer
		if err := Write(&b, g); err != nil {
			t.Fatal(err)
		}
		if g, err = Read(&b); err != nil {
			t.Fatal(err)
		}
		if v, err := g.Value("h"); err != nil || v.Param().Role() != want {
			t.Errorf("h is a %v after a file, want %v (%v)", v.Param().Role(), want, err)
		}
	}
}
