package onnxio

import (
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
)

// manyWeights returns a model of one parameter of n elements, large enough to stay in the file while it is read.
func manyWeights(t *testing.T, n int) *nn.Graph {
	t.Helper()
	g := nn.New("many")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N]")
		w := e.Param("w", initial.Normal{Mean: 3, Std: 2}, n)
		e.Output("y", e.Node(op.Plain("Add"), x, w).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A tensor that is read from the file block by block keeps the average and the variance of its data.
func TestStripLarge(t *testing.T) {
	dir := t.TempDir()
	full, small, again := filepath.Join(dir, "full.onnx"), filepath.Join(dir, "small.onnx"), filepath.Join(dir, "again.onnx")
	g := manyWeights(t, 300_001)
	if err := Save(full, g); err != nil {
		t.Fatal(err)
	}
	if n, err := (Stripper{}).Strip(full, small); n != 1 || err != nil {
		t.Fatalf("%d tensors: %v", n, err)
	}
	if info, err := os.Stat(small); err != nil || info.Size() > 1000 {
		t.Errorf("%v, %v", info, err)
	}
	m, err := (Loader{}).readModel(small)
	if err != nil {
		t.Fatal(err)
	}
	var w *nn.Param
	for p := range g.Params() {
		w = p
	}
	v, err := float64s(w.Tensor())
	if err != nil {
		t.Fatal(err)
	}
	want := moments(v)
	got, ok := parseStripped(m.Graph.Initializer[0])
	if !ok || math.Abs(got.Average-want.Average) > 1e-12 || math.Abs(got.Variance-want.Variance) > 1e-11 || m.Graph.Initializer[0].ExternalData[1].GetValue() != "1200004" {
		t.Errorf("%v, want %v", m.Graph.Initializer[0].ExternalData, want)
	}
	if n, err := (Unstripper{Seed: 1}).Unstrip(small, again); n != 1 || err != nil {
		t.Fatalf("%d tensors: %v", n, err)
	}
	filled, err := Load(again)
	if err != nil {
		t.Fatal(err)
	}
	for p := range filled.Params() {
		v, err := float64s(p.Tensor())
		if err != nil {
			t.Fatal(err)
		}
		if s := moments(v); math.Abs(s.Average-3) > 0.02 || math.Abs(s.Variance-4) > 0.05 {
			t.Errorf("filled with %v", s)
		}
	}
	if n, err := (Stripper{Over: 300_001}).Strip(full, small); n != 0 || err != nil {
		t.Errorf("a tensor of exactly that many elements: %d, %v", n, err)
	}
	if kept, err := Load(small); err != nil || kept.Check() != nil {
		t.Errorf("a model of which nothing was stripped: %v", err)
	}
}

// TestStripPlaces checks subgraphs, attributes if requested, and values that are not tensors.
func TestStripPlaces(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "model.onnx")
	body := `attribute { name: "then_branch" type: GRAPH g { name: "b" output { name: "z" type { tensor_type { elem_type: 1 } } }
		initializer { name: "k" data_type: 1 dims: 3 float_data: [1, 2, 3] } node { op_type: "Identity" input: "k" output: "z" } } }
		attribute { name: "else_branch" type: GRAPH g { name: "c" output { name: "u" type { tensor_type { elem_type: 1 } } }
		node { op_type: "Constant" output: "u" attribute { name: "value" type: TENSOR t { data_type: 1 dims: 3 float_data: [1, 2, 3] } } } } }`
	model := textModel(t, `input { name: "c" type { tensor_type { elem_type: 9 shape { } } } } output `+float("y", "3")+`node { op_type: "If" input: "c" output: "y" `+body+` }`)
	for want, s := range map[int]Stripper{1: {Over: 2}, 2: {Over: -1, Constants: true}, 0: {Over: 3}} {
		if err := os.WriteFile(file, model, 0o644); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Strip(file, ""); n != want || err != nil {
			t.Errorf("%+v: %d tensors, %v", s, n, err)
		}
		if n, err := (Unstripper{}).Unstrip(file, ""); n != want || err != nil {
			t.Errorf("%+v: %d tensors filled, %v", s, n, err)
		}
	}
	value := filepath.Join(dir, "value.pb")
	r := rand.New(rand.NewPCG(1, 1))
	for want, v := range map[int]dtype.Value{
		1: random(t, dtype.Float32, r, 7), 0: &dtype.Sequence{Items: []dtype.Value{random(t, dtype.Float32, r, 7)}, Elem: dtype.Float32},
	} {
		if err := WriteFile(value, func(w io.Writer) error { return WriteValue(w, NamedValue{"v", v}) }); err != nil {
			t.Fatal(err)
		}
		if n, err := (Stripper{Over: 2}).Strip(value, ""); n != want || err != nil {
			t.Errorf("%T: %d tensors, %v", v, n, err)
		}
	}
}

// A folder that cannot be rewritten as a whole stays as it was.
func TestStripFolderWhole(t *testing.T) {
	dir := t.TempDir()
	if err := Save(filepath.Join(dir, "model.onnx"), manyWeights(t, 500)); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "meta.json"), []byte(`{"strip_large_tensor_data": 7}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (Stripper{}).Strip(dir, ""); err == nil || !strings.Contains(err.Error(), "neither true nor false") {
		t.Errorf("got %v", err)
	}
	after, err := os.ReadFile(filepath.Join(dir, "model.onnx"))
	if err != nil || string(after) != string(before) {
		t.Errorf("the model changed: %v", err)
	}
}
