package onnxio

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// textModel returns the serialized model of a graph in protobuf's text form, operator set 17.
func textModel(t testing.TB, graph string) []byte {
	t.Helper()
	return fullModel(t, `ir_version: 8 opset_import { version: 17 } graph { name: "g" `+graph+` }`)
}

func fullModel(t testing.TB, text string) []byte {
	t.Helper()
	m := &onnxpb.ModelProto{}
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func float(name, dims string) string {
	var shape strings.Builder
	for _, d := range strings.Fields(dims) {
		if d[0] >= '0' && d[0] <= '9' || d[0] == '-' {
			fmt.Fprintf(&shape, "dim { dim_value: %s } ", d)
		} else {
			fmt.Fprintf(&shape, "dim { dim_param: %q } ", d)
		}
	}
	return fmt.Sprintf("{ name: %q type { tensor_type { elem_type: 1 shape { %s } } } } ", name, shape.String())
}

// eval runs a model of one float input on 1, 2, 3 … and returns its first output.
func eval(t testing.TB, g *nn.Graph, shape ...int) []float64 {
	t.Helper()
	x := dtype.New(dtype.Float32, shape...)
	for i := range dtype.Slice[float32](x) {
		dtype.Slice[float32](x)[i] = float32(i + 1)
	}
	out, err := g.Run(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	f, err := dtype.Float64s(out[0])
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestLoadErrors(t *testing.T) {
	in, out := "input "+float("x", "2"), "output "+float("y", "2")
	relu := `node { op_type: "Relu" name: "r" input: "x" output: "y" } `
	init := func(s string) string { return in + out + relu + "initializer { " + s + " }" }
	for name, c := range map[string]struct{ graph, want string }{
		"cycle":        {in + out + `node { op_type: "Add" name: "a" input: "x" input: "z" output: "y" } node { op_type: "Relu" name: "b" input: "y" output: "z" }`, "cycle"},
		"missing":      {in + out + `node { op_type: "Add" name: "a" input: "x" input: "z" output: "y" }`, `load: Add a: reads "z", which nothing computes`},
		"twice":        {in + out + relu + `node { op_type: "Abs" name: "q" input: "x" output: "y" }`, `two values are named "y"`},
		"nameless":     {`input { } ` + out + relu, "a value has no name"},
		"no operator":  {in + out + `node { name: "n" input: "x" output: "y" }`, "load: n: a node has no operator"},
		"output":       {in + "output " + float("z", "2") + relu, `output "z" is not computed by any node`},
		"huge":         {init(`name: "w" data_type: 1 dims: 4611686018427387904 dims: 4611686018427387904 raw_data: "1234"`), `tensor "w"`},
		"negative":     {init(`name: "w" data_type: 1 dims: -3 raw_data: "1234"`), `tensor "w"`},
		"short":        {init(`name: "w" data_type: 1 dims: 1000000000 raw_data: "1234"`), "take 4000000000 bytes, found 4"},
		"type":         {init(`name: "w" data_type: 99 dims: 1 raw_data: "1234"`), "unknown element type 99"},
		"external":     {init(`name: "w" data_type: 1 dims: 1 data_location: EXTERNAL external_data { key: "location" value: "/etc/passwd" }`), `load: input w: tensor "w"`},
		"attribute":    {in + out + `node { op_type: "Relu" name: "r" input: "x" output: "y" } node { op_type: "Constant" name: "c" output: "k" attribute { name: "value" type: TENSOR t { data_type: 1 dims: 2 } } }`, "load: Constant c: attribute value"},
		"given twice":  {in + out + relu + `node { op_type: "Constant" name: "c" output: "k" attribute { name: "value_int" type: INT i: 1 } attribute { name: "value_int" type: INT i: 2 } }`, "given twice"},
		"element type": {`input { name: "x" type { tensor_type { elem_type: 77 } } } ` + out + relu, "unknown element type 77"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(textModel(t, c.graph)))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "load: ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
		})
	}
}

func TestLoadNoModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.onnx")
	for _, b := range [][]byte{nil, {8}, {8, 7}, []byte("no model at all"), {0x3a, 0xff, 0xff, 0xff, 0x7f}} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, read := Read(bytes.NewReader(b))
		_, load := Load(path)
		for _, err := range []error{read, load} {
			if err == nil || !strings.Contains(err.Error(), "not an ONNX model") {
				t.Errorf("%q: got %v", b, err)
			}
		}
	}
	if _, err := Load(t.TempDir() + "/none.onnx"); err == nil || !strings.HasPrefix(err.Error(), "load: ") {
		t.Errorf("got %v", err)
	}
}

// TestLoadDeep checks that nested subgraphs in a file of a few kilobytes do not exhaust the stack.
func TestLoadDeep(t *testing.T) {
	g := &onnxpb.GraphProto{Name: proto.String("leaf")}
	for range 200 {
		g = &onnxpb.GraphProto{Name: proto.String("g"), Node: []*onnxpb.NodeProto{{
			OpType: proto.String("Unknown"), Domain: proto.String("test"), Output: []string{"y"},
			Attribute: []*onnxpb.AttributeProto{{Name: proto.String("body"), Type: onnxpb.AttributeProto_GRAPH.Enum(), G: g}},
		}}}
	}
	b, err := proto.Marshal(&onnxpb.ModelProto{Graph: g})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(bytes.NewReader(b)); err == nil || !strings.Contains(err.Error(), "nested more than") {
		t.Errorf("got %v", err)
	}
}

func TestUnknownOperator(t *testing.T) {
	g, err := Read(bytes.NewReader(textModel(t, "input "+float("x", "N")+"output "+float("y", "N")+
		`node { op_type: "Mystery" domain: "test" name: "m" input: "x" output: "h" attribute { name: "a" i: 3 type: INT } }
		 node { op_type: "Relu" name: "r" input: "h" output: "y" }
		 node { op_type: "Riddle" name: "q" input: "h" output: "unused" }`)))
	if err != nil {
		t.Fatal(err)
	}
	if got := Unsupported(g); len(got) != 2 || got[0] != "Riddle" || got[1] != "test.Mystery" {
		t.Errorf("unsupported %q", got)
	}
	if _, err := g.Run(context.Background(), dtype.New(dtype.Float32, 2)); err == nil || !strings.Contains(err.Error(), "test.Mystery") {
		t.Errorf("got %v", err)
	}
}

// TestInitializerAsInput checks that initializers that files up to IR version 3 list as inputs need not be fed.
func TestInitializerAsInput(t *testing.T) {
	g, err := Read(bytes.NewReader(textModel(t, "input "+float("w", "2")+"input "+float("x", "2")+"output "+float("y", "2")+
		`node { op_type: "Mul" input: "x" input: "w" output: "y" } initializer { name: "w" data_type: 1 dims: 2 float_data: 3 float_data: 4 }`)))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(g.Inputs()); n != 1 || g.Inputs()[0].Name() != "x" {
		t.Errorf("%d inputs", n)
	}
	if y := eval(t, g, 2); y[0] != 3 || y[1] != 8 {
		t.Errorf("got %v", y)
	}
}

const functionModel = `ir_version: 9 opset_import { version: 17 } opset_import { domain: "my" version: 1 }
	functions { name: "Scaled" domain: "my" input: "a" input: "b" output: "c" attribute: "factor" attribute_proto { name: "shift" type: FLOAT f: 0.5 }
		opset_import { version: 17 }
		node { op_type: "Constant" output: "k" attribute { name: "value_float" ref_attr_name: "factor" type: FLOAT } }
		node { op_type: "Constant" output: "s" attribute { name: "value_float" ref_attr_name: "shift" type: FLOAT } }
		node { op_type: "Mul" input: "a" input: "k" output: "m" }
		node { op_type: "Add" input: "m" input: "s" output: "c" } }
	functions { name: "Twice" domain: "my" input: "a" output: "c" opset_import { domain: "my" version: 1 }
		node { op_type: "Scaled" domain: "my" input: "a" output: "h" attribute { name: "factor" f: 2 type: FLOAT } }
		node { op_type: "Scaled" domain: "my" input: "h" output: "c" attribute { name: "factor" f: 3 type: FLOAT } attribute { name: "shift" f: 1 type: FLOAT } } }
	graph { name: "g" input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } } } } } output { name: "y" }
		node { op_type: "Twice" domain: "my" name: "call" input: "x" output: "y" } }`

func TestFunctions(t *testing.T) {
	b := fullModel(t, functionModel)
	g, err := Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Outputs()[0].Type().String(); got != "float32[N]" {
		t.Errorf("output is a %s", got)
	}
	if y := eval(t, g, 3); y[0] != 8.5 || y[2] != 20.5 {
		t.Errorf("got %v", y)
	}
	var after bytes.Buffer
	if err := Write(&after, g); err != nil {
		t.Fatal(err)
	}
	if err := sameModel(b, after.Bytes()); err != nil {
		t.Error(err)
	}
}

func TestFunctionErrors(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"recursive": {`op_type: "Mul" input: "a" input: "k" output: "m"`, `op_type: "Twice" domain: "my" input: "a" output: "m"`, "calls itself"},
		"undefined": {`input: "m" input: "s"`, `input: "m" input: "ghost"`, `reads "ghost"`},
		"outputs":   {`input: "x" output: "y"`, `input: "x" output: "y" output: "z"`, "has 1 inputs and 1 outputs"},
	} {
		_, err := Read(bytes.NewReader(fullModel(t, strings.Replace(functionModel, c.old, c.new, 1))))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestLoaderInputs(t *testing.T) {
	b := textModel(t, "input "+float("x", "1 3")+"output "+float("y", "1 3")+`node { op_type: "Relu" input: "x" output: "y" }`)
	g, err := Loader{Inputs: []string{"x float32[N,3]"}}.Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if y := eval(t, g, 4, 3); len(y) != 12 {
		t.Errorf("got %v", y)
	}
	var out bytes.Buffer
	if err := Write(&out, g); err != nil {
		t.Fatal(err)
	}
	m := &onnxpb.ModelProto{}
	if err := proto.Unmarshal(out.Bytes(), m); err != nil {
		t.Fatal(err)
	}
	for _, info := range []*onnxpb.ValueInfoProto{m.Graph.Input[0], m.Graph.Output[0]} {
		if d := info.GetType().GetTensorType().GetShape().GetDim(); len(d) != 2 || d[0].GetDimParam() != "N" || d[1].GetDimValue() != 3 {
			t.Errorf("%s is declared %v", info.GetName(), d)
		}
	}
	if _, err := (Loader{Inputs: []string{"z float32[N,3]"}}).Read(bytes.NewReader(b)); err == nil || !strings.Contains(err.Error(), `no input "z"`) {
		t.Errorf("got %v", err)
	}
}

func TestStrippedModel(t *testing.T) {
	text := textModel(t, "input "+float("x", "2")+"output "+float("y", "2")+`node { op_type: "Mul" input: "x" input: "w" output: "y" }
		initializer { name: "w" data_type: 1 dims: 2 data_location: EXTERNAL external_data { key: "location" value: "{\"type\": \"stripped\", \"average\": 1.0, \"variance\": 0.5}" } external_data { key: "length" value: "8" } }`)
	g, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Run(context.Background(), dtype.New(dtype.Float32, 2)); err == nil || !strings.Contains(err.Error(), "unstrip") {
		t.Errorf("got %v", err)
	}
	var out bytes.Buffer
	if err := Write(&out, g); err != nil {
		t.Fatal(err)
	}
	if err := sameModel(text, out.Bytes()); err != nil {
		t.Error(err)
	}
}

func TestLoaderFS(t *testing.T) {
	b := textModel(t, "input "+float("x", "2")+"output "+float("y", "2")+`node { op_type: "Mul" input: "x" input: "w" output: "y" }
		initializer { name: "w" data_type: 1 dims: 2 data_location: EXTERNAL external_data { key: "location" value: "w.bin" } }`)
	fsys := fstest.MapFS{"m/model.onnx": {Data: b}, "m/w.bin": {Data: []byte{0, 0, 128, 63, 0, 0, 0, 64}}}
	g, err := Loader{FS: fsys}.Load("m/model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	if y := eval(t, g, 2); y[0] != 1 || y[1] != 4 {
		t.Errorf("got %v", y)
	}
	if _, err := Read(bytes.NewReader(b)); err == nil || !strings.Contains(err.Error(), "another file") {
		t.Errorf("got %v", err)
	}
}

// FuzzLoad: no file may crash the loader, and what loads can be saved and loaded again.
func FuzzLoad(f *testing.F) {
	f.Add(fullModel(f, functionModel))
	f.Add(textModel(f, "input "+float("x", "N 3")+"output "+float("y", "N 3")+`node { op_type: "Relu" input: "x" output: "y" }`))
	f.Add([]byte{0x3a, 0x00})
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := Write(&out, g); err != nil {
			return
		}
		if _, err := Read(bytes.NewReader(out.Bytes())); err != nil {
			t.Errorf("cannot be read again: %v", err)
		}
	})
}
