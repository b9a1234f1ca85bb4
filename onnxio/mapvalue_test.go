package onnxio_test

import (
	"bytes"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
)

// TestMaps checks that scores become maps, that maps are saved as values, and that a map becomes a row again.
func TestMaps(t *testing.T) {
	g := nn.NewGraph("maps", std.Operators(), map[string]int{"": 17, "ai.onnx.ml": 3})
	err := g.Edit(func(e *nn.Edit) {
		e.Output("z", e.Node(std.ZipMapConfig{Strings: []string{"b", "a"}}, e.Input("x", "float32[N,2]")).Out(0))
		m := e.Input("m", "map(string,float32)")
		e.Output("row", e.Node(std.DictVectorizerConfig{Strings: []string{"c", "a", "b"}}, m).Out(0))
		k := e.Input("k", "map(int64,float32)")
		e.Output("sparse", e.Node(std.CastMapConfig{To: "TO_INT64", Form: "SPARSE", Max: 4}, k).Out(0))
		e.Output("dense", e.Node(std.CastMapConfig{To: "TO_STRING", Form: "DENSE"}, k).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := onnxio.Write(&file, g); err != nil {
		t.Fatal(err)
	}
	if g, err = onnxio.Read(&file); err != nil {
		t.Fatal(err)
	}
	x, _ := dtype.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	values, _ := dtype.FromSlice([]float32{5, 6}, 2)
	words, _ := dtype.NewStrings([]string{"b", "a"}, 2)
	numbers, _ := dtype.FromSlice([]int64{3, 0}, 2)
	m, err := dtype.NewMap(words, values)
	if err != nil {
		t.Fatal(err)
	}
	k, err := dtype.NewMap(numbers, values)
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.Eval(t.Context(), nn.Feed{"x": x, "m": m, "k": k})
	if err != nil {
		t.Fatal(err)
	}
	if got := out["row"].Data().([]float32); got[0] != 0 || got[1] != 6 || got[2] != 5 {
		t.Error(got)
	}
	if got := out["sparse"].Data().([]int64); got[0] != 6 || got[3] != 5 || got[1] != 0 || len(got) != 4 {
		t.Error(got)
	}
	if got := out["dense"].Data().([]string); len(got) != 2 || got[0] != "6.0" || got[1] != "5.0" {
		t.Error(got)
	}
	z := out["z"].(*dtype.Sequence)
	second := z.Items[1].(*dtype.Map)
	if len(z.Items) != 2 || second.Keys.Data().([]string)[0] != "a" || second.Values.Data().([]float32)[0] != 4 {
		t.Error(z)
	}
	for _, v := range []dtype.Value{z, m, k} {
		var b bytes.Buffer
		kind := op.Map
		if v == dtype.Value(z) {
			kind = op.Sequence
		}
		if err := onnxio.WriteValue(&b, onnxio.NamedValue{Name: "v", Value: v}); err != nil {
			t.Fatal(err)
		}
		back, err := onnxio.ReadValue(&b, op.Type{Kind: kind, DType: dtype.Float32})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dtype.DefaultTolerance.Compare(back.Value, v); err != nil {
			t.Error(err)
		}
	}
	if _, err := dtype.DefaultTolerance.Compare(m, k); err == nil {
		t.Error("maps with other keys are equal")
	}
	if _, err := dtype.NewMap(numbers, x); err == nil {
		t.Error("a map with too many values")
	}
}
