package onnxio

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// resave loads a model and returns what saving it gives.
func resave(fsys fs.FS, name string) ([]byte, error) {
	g, err := Loader{FS: fsys}.Load(name)
	if err != nil {
		return nil, err
	}
	if err := g.Check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = Write(&b, g)
	return b.Bytes(), err
}

// TestSaveShared loads and saves every model of the shared folder: nothing in it may change.
func TestSaveShared(t *testing.T) {
	for name, fsys := range map[string]fs.FS{
		"models": os.DirFS(filepath.Join(sharedDir(t), "models")),
		"nodes":  nodeTests(t),
		"pfn":    os.DirFS(filepath.Join(sharedDir(t), "testcases-pfn")),
	} {
		count, identical := 0, 0
		for model := range models(t, fsys) {
			before, err := fs.ReadFile(fsys, model)
			if err != nil {
				t.Fatal(err)
			}
			after, err := resave(fsys, model)
			if err == nil {
				err = sameModel(before, after)
			}
			if err != nil {
				t.Errorf("%s: %v", model, err)
				continue
			}
			count++
			if bytes.Equal(before, after) {
				identical++
			}
		}
		t.Logf("%s: %d models, %d to the same bytes", name, count, identical)
	}
}

func sameModel(before, after []byte) error {
	a, b := &onnxpb.ModelProto{}, &onnxpb.ModelProto{}
	if err := proto.Unmarshal(before, a); err != nil {
		return err
	}
	if err := proto.Unmarshal(after, b); err != nil {
		return err
	}
	if proto.Equal(a, b) {
		return nil
	}
	return fmt.Errorf("changed (- before, + after):\n%.3000s", cmp.Diff(a, b, protocmp.Transform()))
}

// TestSaveEdited checks what is written after an edit: what it touched and nothing else.
func TestSaveEdited(t *testing.T) {
	before := textModel(t, "input "+float("x", "N 3")+"output "+float("y", "N 3")+
		`node { op_type: "Relu" name: "r" input: "x" output: "h" doc_string: "kept" }
		 node { op_type: "Mystery" domain: "test" name: "m" input: "h" output: "k" attribute { name: "a" i: 3 type: INT } }
		 node { op_type: "Mul" name: "s" input: "k" input: "w" output: "y" }
		 initializer { name: "w" data_type: 1 dims: 3 float_data: [1, 2, 3] }
		 value_info { name: "h" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } dim { dim_value: 3 } } } } }
		 quantization_annotation { tensor_name: "h" quant_parameter_tensor_names { key: "SCALE_TENSOR" value: "w" } }
		 metadata_props { key: "k" value: "v" }`)
	g, err := Read(bytes.NewReader(before))
	if err != nil {
		t.Fatal(err)
	}
	err = g.Edit(func(e *nn.Edit) {
		e.SetMeta("who", "me")
		e.RenameValue(e.Value("h"), "hidden")
		e.RenameValue(e.Value("w"), "weight")
		e.Insert(e.Value("y"), layers.Sigmoid{})
	})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, g); err != nil {
		t.Fatal(err)
	}
	m := &onnxpb.ModelProto{}
	if err := proto.Unmarshal(b.Bytes(), m); err != nil {
		t.Fatal(err)
	}
	p := m.Graph
	if n := len(p.Node); n != 4 || p.Node[0].GetDocString() != "kept" || p.Node[0].Output[0] != "hidden" || p.Node[1].Input[0] != "hidden" ||
		p.Node[1].Attribute[0].GetI() != 3 || p.Node[2].Input[1] != "weight" || p.Node[3].GetOpType() != "Sigmoid" || p.Output[0].GetName() != p.Node[3].Output[0] {
		t.Errorf("nodes %v, output %v", p.Node, p.Output)
	}
	if a := p.QuantizationAnnotation[0]; a.GetTensorName() != "hidden" || a.QuantParameterTensorNames[0].GetValue() != "weight" {
		t.Errorf("annotation %v", a)
	}
	if p.Initializer[0].GetName() != "weight" || len(p.Initializer[0].FloatData) != 3 || p.ValueInfo[0].GetName() != "hidden" ||
		p.MetadataProps[0].GetKey() != "k" || m.MetadataProps[0].GetValue() != "me" {
		t.Errorf("%v", p)
	}
}

func TestSaveTrained(t *testing.T) {
	g, err := Read(bytes.NewReader(textModel(t, "input "+float("x", "2")+"output "+float("y", "2")+
		`node { op_type: "Mul" input: "x" input: "w" output: "y" } initializer { name: "w" data_type: 1 dims: 2 raw_data: "\000\000\200?\000\000\000@" doc_string: "d" }`)))
	if err != nil {
		t.Fatal(err)
	}
	for p := range g.Params() {
		dtype.Slice[float32](p.Data())[1] = 7
	}
	var b bytes.Buffer
	if err := Write(&b, g); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if y := eval(t, again, 2); y[0] != 1 || y[1] != 14 {
		t.Errorf("got %v", y)
	}
}

// TestSaveSubgraph renames an outer value that a subgraph reads.
func TestSaveSubgraph(t *testing.T) {
	body := func(name string) string {
		return `attribute { name: "` + name + `" type: GRAPH g { name: "` + name + `" node { op_type: "Abs" input: "h" output: "` + name + `_out" } output { name: "` + name + `_out" } } } `
	}
	for _, operator := range []string{`op_type: "If"`, `op_type: "Unknown" domain: "test"`} {
		before := textModel(t, "input "+float("x", "2")+`input { name: "c" type { tensor_type { elem_type: 9 shape { } } } } output `+float("y", "2")+
			`node { op_type: "Relu" input: "x" output: "h" } node { `+operator+` input: "c" output: "y" `+body("then_branch")+body("else_branch")+` }`)
		g, err := Read(bytes.NewReader(before))
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range []*nn.Graph{g, nntest.Clone(t, g)} {
			var b bytes.Buffer
			if err := Write(&b, g); err != nil {
				t.Fatal(err)
			}
			if err := sameModel(before, b.Bytes()); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Edit(func(e *nn.Edit) { e.RenameValue(e.Value("h"), "renamed") }); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := Write(&b, g); err != nil {
			t.Fatal(err)
		}
		m := &onnxpb.ModelProto{}
		if err := proto.Unmarshal(b.Bytes(), m); err != nil {
			t.Fatal(err)
		}
		for _, a := range m.Graph.Node[1].Attribute {
			if got := a.G.Node[0].Input[0]; got != "renamed" {
				t.Errorf("%s: %s reads %q", operator, a.GetName(), got)
			}
		}
	}
}

func TestSaveNew(t *testing.T) {
	g := nn.New("fresh")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 3}, layers.ReLU{}}, x))
	})
	if err != nil {
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
	if got, want := eval(t, again, 2, 4), eval(t, g, 2, 4); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if h := HeaderOf(again); h.IRVersion != 10 || h.Producer != "graft" || h.Opsets[""] != nn.LatestOpset {
		t.Errorf("%+v", h)
	}
}

func TestSaveOpset(t *testing.T) {
	g, err := Read(bytes.NewReader(textModel(t, "input "+float("x", "2 3")+"output "+float("y", "2 3")+
		`node { op_type: "Relu" input: "x" output: "h" } node { op_type: "Softmax" name: "s" input: "h" output: "y" }`)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := (Saver{Opset: 21}).Write(&b, g); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&b)
	if err != nil || again.Opsets()[""] != 21 {
		t.Errorf("got %v, %v", again.Opsets(), err)
	}
	for _, s := range []Saver{{Opset: -1}, {Opset: 99}, {DType: dtype.Int8}, {DType: dtype.BFloat16, Opset: 12}, {Inputs: []string{"z float32[2]"}}, {ExternalOver: 1}} {
		if err := s.Write(io.Discard, g); err == nil || !strings.HasPrefix(err.Error(), "save: ") {
			t.Errorf("%+v: got %v", s, err)
		}
	}
}

// TestSaveOldNormalization: in evaluation BatchNormalization means the same in all versions.
func TestSaveOldNormalization(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(nn.Sequential{layers.BatchNorm{}, layers.ReLU{}}, e.Input("x", "float32[N,1,2]")))
	}); err != nil {
		t.Fatal(err)
	}
	for _, opset := range []int{7, 11, 13} {
		var b bytes.Buffer
		if err := (Saver{Opset: opset}).Write(&b, g); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&b)
		if err != nil || again.Opsets()[""] != opset {
			t.Fatalf("got %v, %v", again, err)
		}
		if got, want := eval(t, again, 1, 1, 2), eval(t, g, 1, 1, 2); !slices.Equal(got, want) {
			t.Errorf("operator set %d: got %v, want %v", opset, got, want)
		}
	}
}

func TestSaveExternal(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "m.onnx")
	text := textModel(t, "input "+float("x", "2")+"output "+float("y", "2")+
		`node { op_type: "Mul" input: "x" input: "w" output: "y" } initializer { name: "w" data_type: 1 dims: 2 float_data: [3, 4] }`)
	g, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := (Saver{ExternalOver: 4}).Save(file, g); err != nil {
		t.Fatal(err)
	}
	small := filepath.Join(dir, "small.onnx")
	if err := (Saver{ExternalOver: 1000}).Save(small, g); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(small + ".data"); err == nil {
		t.Error("a small tensor lies in another file")
	}
	if b, err := os.ReadFile(file + ".data"); err != nil || len(b) != 8 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	again, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if y := eval(t, again, 2); y[0] != 3 || y[1] != 8 {
		t.Errorf("got %v", y)
	}
	if err := Save(file, again); err != nil { // back into one file
		t.Fatal(err)
	}
	if again, err = (Loader{}).Load(file); err != nil || eval(t, again, 2)[1] != 8 {
		t.Errorf("%v", err)
	}
}

// TestSaveStored: weights are rounded in the file and trained again after loading it.
func TestSaveStored(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 3}, layers.BatchNorm{}}, e.Input("x", "float32[N,4]")))
	}); err != nil {
		t.Fatal(err)
	}
	var full bytes.Buffer
	if err := Write(&full, g); err != nil {
		t.Fatal(err)
	}
	for _, stored := range []dtype.DType{dtype.Float16, dtype.BFloat16, dtype.Float64} {
		var b bytes.Buffer
		if err := (Saver{DType: stored}).Write(&b, g); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&b)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Check(); err != nil {
			t.Fatal(err)
		}
		weights := 0
		for p := range again.Params() {
			if p.Trainable() {
				weights++
				if got := dtype.Of(p.Data().Dtype()); got != stored {
					t.Errorf("%s is %v, want %v", p.Name(), got, stored)
				}
			}
		}
		if weights != 4 {
			t.Errorf("%d weights are trained, want 4", weights)
		}
		got, want := eval(t, again, 2, 4), eval(t, g, 2, 4)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 0.05 {
				t.Errorf("%v: got %v, want %v", stored, got, want)
				break
			}
		}
		if stored == dtype.Float64 && !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	for p := range g.Params() {
		dtype.Slice[float32](p.Data())[0] = 1e9
	}
	if err := (Saver{DType: dtype.Float16}).Write(io.Discard, g); err == nil || !strings.Contains(err.Error(), "beyond the range of float16") {
		t.Errorf("got %v", err)
	}
}

// TestSaveConverted checks what older versions spell in another way, on files.
func TestSaveConverted(t *testing.T) {
	text := "input " + float("x", "2 6") + "output " + float("y", "2 3 1") +
		`node { op_type: "Constant" output: "axes" attribute { name: "value_ints" ints: [2] type: INTS } }
		 node { op_type: "Clip" name: "c" input: "x" input: "" input: "six" output: "a" }
		 node { op_type: "Softmax" name: "s" input: "a" output: "b" attribute { name: "axis" i: 0 type: INT } }
		 node { op_type: "Slice" name: "cut" input: "b" input: "from" input: "to" input: "one" output: "c" }
		 node { op_type: "Unsqueeze" name: "u" input: "c" input: "axes" output: "y" }
		 initializer { name: "six" data_type: 1 float_data: [6] }
		 initializer { name: "from" data_type: 7 dims: 1 int64_data: [1] } initializer { name: "to" data_type: 7 dims: 1 int64_data: [4] }
		 initializer { name: "one" data_type: 7 dims: 1 int64_data: [-1] }`
	g, err := Read(bytes.NewReader(textModel(t, text)))
	if err != nil {
		t.Fatal(err)
	}
	for _, opset := range []int{7, 9, 10, 11, 12, 13, 21} {
		var b bytes.Buffer
		if err := (Saver{Opset: opset}).Write(&b, g); err != nil {
			t.Fatal(err)
		}
		m := &onnxpb.ModelProto{}
		if err := proto.Unmarshal(b.Bytes(), m); err != nil {
			t.Fatal(err)
		}
		if n := len(m.Graph.Initializer); opset < 10 && n != 0 {
			t.Errorf("operator set %d: %d initializers are left", opset, n)
		}
		again, err := Read(&b)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := eval(t, again, 2, 6), eval(t, g, 2, 6); !slices.Equal(got, want) {
			t.Errorf("operator set %d: got %v, want %v", opset, got, want)
		}
		var back bytes.Buffer // and to where it came from
		if err := (Saver{Opset: 17}).Write(&back, again); err != nil {
			t.Fatal(err)
		}
		if again, err = Read(&back); err != nil {
			t.Fatal(err)
		}
		if got, want := eval(t, again, 2, 6), eval(t, g, 2, 6); !slices.Equal(got, want) {
			t.Errorf("operator set %d and back: got %v, want %v", opset, got, want)
		}
	}
}

// TestSettingsOfFiles: invalid settings of a Saver and a Loader are errors.
func TestSettingsOfFiles(t *testing.T) {
	g := nn.New("m")
	if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Apply(layers.ReLU{}, e.Input("x", "float32[N]"))) }); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.onnx")
	if err := Save(path, g); err != nil {
		t.Fatal(err)
	}
	_, loaded := Loader{Memory: -1}.Load(path)
	for want, err := range map[string]error{
		"Memory is -1": loaded, "ExternalOver is -1": Saver{ExternalOver: -1}.Save(path, g), "Annotations is 3": Saver{Annotations: 3}.Write(io.Discard, g),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
