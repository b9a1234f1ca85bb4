package onnxio

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// written returns what saving g gives.
func written(t *testing.T, s Saver, g *nn.Graph) *onnxpb.ModelProto {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(&b, g); err != nil {
		t.Fatal(err)
	}
	m := &onnxpb.ModelProto{}
	if err := proto.Unmarshal(b.Bytes(), m); err != nil {
		t.Fatal(err)
	}
	return m
}

func read(t *testing.T, b []byte) *nn.Graph {
	t.Helper()
	g, err := Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func change(t *testing.T, g *nn.Graph, f func(e *nn.Edit)) {
	t.Helper()
	if err := g.Edit(f); err != nil {
		t.Fatal(err)
	}
}

// TestKeeps: models that are loaded and saved come out as they were, with what graft has no use for.
func TestKeeps(t *testing.T) {
	vector := "tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } }"
	relu := `node { op_type: "Relu" input: "x" output: "y" } `
	body := `ir_version: 8 opset_import { version: 17 } graph { name: "g" `
	for name, text := range map[string]string{
		"no version of the format":   `opset_import { version: 17 } graph { name: "g" input ` + float("x", "2") + relu + `output ` + float("y", "2") + `}`,
		"operator sets of one name":  `ir_version: 8 opset_import { version: 17 } opset_import { domain: "ai.onnx" version: 17 } graph { name: "g" }`,
		"format 1":                   `ir_version: 1 graph { name: "g" input ` + float("x", "2") + relu + `output ` + float("y", "2") + `}`,
		"graph without a name":       `ir_version: 8 opset_import { version: 17 } graph { input ` + float("x", "2") + relu + `output ` + float("y", "2") + `}`,
		"input's documentation":      body + `input { name: "x" doc_string: "d" type { ` + vector + ` denotation: "IMAGE" } } ` + relu + `output { name: "y" doc_string: "e" type { ` + vector + ` } } }`,
		"input of any type":          body + `input { name: "x" } node { op_type: "Mystery" domain: "t" input: "x" output: "y" } output { name: "y" } }`,
		"dimension without a name":   body + `input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "(N" } dim { dim_value: -1 } } } } } ` + relu + `output { name: "y" } }`,
		"initializers as inputs":     body + `input ` + float("w", "2") + `input ` + float("x", "2") + `input ` + float("v", "2") + `initializer { name: "w" data_type: 1 dims: 2 float_data: [1, 2] } initializer { name: "v" data_type: 1 dims: 2 float_data: [1, 2] } node { op_type: "Sum" input: "x" input: "w" input: "v" output: "y" } output ` + float("y", "2") + `}`,
		"value_info of everything":   body + `input ` + float("x", "2") + `initializer { name: "w" data_type: 1 dims: 2 float_data: [1, 2] } node { op_type: "Sum" input: "x" input: "w" output: "y" } output ` + float("y", "2") + `value_info ` + float("x", "2") + `value_info ` + float("w", "2") + `value_info ` + float("y", "2") + `value_info ` + float("ghost", "7") + `value_info ` + float("x", "3") + `}`,
		"output of a subgraph":       body + `input ` + float("x", "2") + `input { name: "c" type { tensor_type { elem_type: 9 shape { } } } } node { op_type: "Relu" input: "x" output: "h" } node { op_type: "If" input: "c" output: "y" attribute { name: "then_branch" type: GRAPH g { name: "a" node { op_type: "Neg" input: "h" output: "z" } output { name: "z" doc_string: "own" } } } attribute { name: "else_branch" type: GRAPH g { name: "b" node { op_type: "Neg" input: "h" output: "u" } node { op_type: "Abs" input: "u" output: "k" } output { name: "k" doc_string: "first" } } } } output ` + float("y", "2") + `}`,
		"sparse by coordinates":      body + `sparse_initializer { values { name: "s" data_type: 1 dims: 1 float_data: 5 } indices { data_type: 7 dims: [1, 2] int64_data: [1, 0] } dims: [2, 3] } node { op_type: "Neg" input: "s" output: "y" } output ` + float("y", "2 3") + `}`,
		"overload":                   `ir_version: 10 opset_import { version: 17 } opset_import { domain: "my" version: 1 } functions { name: "F" domain: "my" overload: "two" input: "a" output: "b" opset_import { version: 17 } node { op_type: "Neg" input: "a" output: "b" } } graph { name: "g" input ` + float("x", "2") + `node { op_type: "F" domain: "my" overload: "two" input: "x" output: "y" } output ` + float("y", "2") + `}`,
		"subgraph in a function":     controlledModel,
		"typed and raw initializers": body + `initializer { name: "a" data_type: 1 dims: 1 raw_data: "\000\000\200?" } initializer { name: "b" data_type: 1 dims: 1 float_data: 1 } initializer { name: "c" data_type: 1 dims: 0 raw_data: "" } node { op_type: "Concat" input: "a" input: "b" input: "c" output: "y" attribute { name: "axis" i: 0 type: INT } } output ` + float("y", "2") + `}`,
	} {
		before := fullModel(t, text)
		g, err := Read(bytes.NewReader(before))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var b bytes.Buffer
		if err := Write(&b, g); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := sameModel(before, b.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSparseChanged: a sparse initializer is written anew where its elements or its name have changed.
func TestSparseChanged(t *testing.T) {
	b := textModel(t, `sparse_initializer { values { name: "s" data_type: 1 dims: 1 float_data: 5 } indices { data_type: 7 dims: [1, 2] int64_data: [1, 0] } dims: [2, 3] } node { op_type: "Neg" input: "s" output: "y" } output `+float("y", "2 3"))
	for name, f := range map[string]func(e *nn.Edit){"s": func(e *nn.Edit) { e.Value("s").Param().Data().Float32s()[5] = 7 }, "r": func(e *nn.Edit) { e.RenameValue(e.Value("s"), "r") }} {
		g := read(t, b)
		change(t, g, f)
		p := written(t, Saver{}, g).Graph.SparseInitializer
		if len(p) != 1 || p[0].GetValues().GetName() != name {
			t.Fatalf("%v", p)
		}
		d, err := decodeSparse(p[0], nil)
		want := []float32{0, 0, 0, 5, 0, 0}
		if name == "s" {
			want[5] = 7
		}
		if err != nil || !slices.Equal(d.Float32s(), want) {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
}

// A sparse vector that became a column is written as one.
func TestSparseColumn(t *testing.T) {
	b := textModel(t, `sparse_initializer { values { name: "s" data_type: 1 dims: 1 float_data: 5 } indices { data_type: 7 dims: 1 int64_data: 1 } dims: 2 } node { op_type: "Neg" input: "s" output: "y" }`+` output { name: "y" }`)
	g := read(t, b)
	change(t, g, func(e *nn.Edit) { e.SetData(e.Value("s"), dense(t, []float32{0, 5}, 2, 1).(*tensor.Dense)) })
	if p := written(t, Saver{}, g).Graph.SparseInitializer; len(p) != 1 || !slices.Equal(p[0].Dims, []int64{2, 1}) {
		t.Errorf("%v", p)
	}
}

// controlledModel calls a function with an If twice.
const controlledModel = `ir_version: 9 opset_import { version: 17 } opset_import { domain: "my" version: 1 }
	functions { name: "Choose" domain: "my" input: "c" input: "a" output: "b" opset_import { version: 17 }
		node { op_type: "If" input: "c" output: "b"
			attribute { name: "then_branch" type: GRAPH g { name: "t" node { op_type: "Neg" input: "a" output: "n" } output { name: "n" } } }
			attribute { name: "else_branch" type: GRAPH g { name: "e" node { op_type: "Abs" input: "a" output: "p" } output { name: "p" } } } } }
	graph { name: "g" input { name: "c" type { tensor_type { elem_type: 9 shape { } } } } input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
		node { op_type: "Choose" domain: "my" input: "c" input: "x" output: "h" } node { op_type: "Choose" domain: "my" input: "c" input: "h" output: "y" }
		output { name: "y" } }`

// TestFunctionCalledTwice: both calls have the function's subgraphs.
func TestFunctionCalledTwice(t *testing.T) {
	g := read(t, fullModel(t, controlledModel))
	for c, want := range map[bool][]float32{true: {-3, 4}, false: {3, 4}} {
		out, err := g.Eval(t.Context(), nn.Feed{"c": dtype.Scalar(c), "x": dense(t, []float32{-3, 4}, 2)}, "y")
		if err != nil {
			t.Fatal(err)
		}
		if got := out["y"].Data().([]float32); !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", c, got, want)
		}
	}
}

// TestFormatVersion: what a file's version becomes when the graph is written for another operator set.
func TestFormatVersion(t *testing.T) {
	for _, c := range []struct{ ir, opset, to, want int }{
		{8, 17, 0, 8}, {8, 17, 17, 8}, {8, 17, 7, 8}, {8, 17, 21, 10}, {3, 17, 0, 3}, {3, 17, 18, 8}, {3, 8, 9, 4},
		{3, 8, 10, 5}, {3, 8, 11, 6}, {3, 8, 12, 7}, {3, 8, 15, 8}, {3, 8, 19, 9}, {3, 8, 23, 11},
	} {
		text := fmt.Sprintf(`ir_version: %d opset_import { domain: "my" version: 1 } opset_import { domain: "ai.onnx" version: %d } graph { name: "g" input %s node { op_type: "Relu" input: "x" output: "y" } output %s }`, c.ir, c.opset, float("x", "2"), float("y", "2"))
		m := written(t, Saver{Opset: c.to}, read(t, fullModel(t, text)))
		version := c.opset
		if c.to != 0 {
			version = c.to
		}
		if m.GetIrVersion() != int64(c.want) || len(m.OpsetImport) != 2 || m.OpsetImport[0].GetVersion() != 1 || m.OpsetImport[1].GetVersion() != int64(version) {
			t.Errorf("%+v: version %d, %v", c, m.GetIrVersion(), m.OpsetImport)
		}
	}
	for _, c := range []struct {
		stored dtype.DType
		want   int64
	}{{0, 3}, {dtype.Float16, 4}} {
		g := read(t, fullModel(t, `ir_version: 3 opset_import { version: 8 } graph { name: "g" input `+float("w", "2")+`initializer { name: "w" data_type: 1 dims: 2 float_data: [1, 2] } input `+float("x", "2")+`node { op_type: "Mul" input: "x" input: "w" output: "y" } output `+float("y", "2")+`}`))
		if m := written(t, Saver{DType: c.stored}, g); m.GetIrVersion() != c.want {
			t.Errorf("weights as %v: version %d, want %d", c.stored, m.GetIrVersion(), c.want)
		}
	}
}

// TestOpsetsRefused: versions of operator sets that no file can mean, and files without any.
func TestOpsetsRefused(t *testing.T) {
	for version, ok := range map[int64]bool{-1: false, 0: true, 1 << 30: true, 1<<30 + 1: false} {
		_, err := opsetsOf([]*onnxpb.OperatorSetIdProto{{Domain: proto.String("my"), Version: &version}}, op.Set{})
		if ok != (err == nil) || err != nil && err.Error() != fmt.Sprintf(`operator set "my" has version %d, which is out of range`, version) {
			t.Errorf("%d: %v", version, err)
		}
	}
	for _, ir := range []int64{1, 2} {
		g := read(t, fullModel(t, fmt.Sprintf(`ir_version: %d graph { name: "g" }`, ir)))
		if g.Opsets()[""] != 1 {
			t.Errorf("format %d: %v", ir, g.Opsets())
		}
		if m := written(t, Saver{}, g); len(m.OpsetImport) != 0 {
			t.Errorf("format %d: %v", ir, m.OpsetImport)
		}
	}
}

// TestNewParameter: up to version 3 of the format an initializer is an input as well.
func TestNewParameter(t *testing.T) {
	for ir, want := range map[int]int{0: 1, 3: 2, 4: 1, 8: 1} {
		header := fmt.Sprintf("ir_version: %d ", ir)
		if ir == 0 {
			header = ""
		}
		g := read(t, fullModel(t, header+`opset_import { version: 8 } graph { name: "g" input `+float("x", "2")+`node { op_type: "Relu" input: "x" output: "y" } output `+float("y", "2")+`}`))
		change(t, g, func(e *nn.Edit) {
			n := e.Node(op.Plain("Mul"), e.Value("x"), e.Param("w", initial.Normal{}, 2))
			e.Output("z", n.Out(0))
		})
		m := written(t, Saver{}, g)
		if len(m.Graph.Initializer) != 1 || len(m.Graph.Input) != want || m.Graph.Input[want-1].GetName() != map[int]string{1: "x", 2: "w"}[want] {
			t.Errorf("version %d: initializers %v, inputs %v", ir, m.Graph.Initializer, m.Graph.Input)
		}
	}
}

// TestNames: names of new graphs and nodes, and of values that were renamed.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{"": "graph", "fresh": "fresh"} {
		g := nn.New(name)
		change(t, g, func(e *nn.Edit) {
			n := e.Node(op.Plain("Relu"), e.Input("x", "float32[2]"))
			e.RenameNode(n, "own")
			e.Output("y", n.Out(0))
		})
		m := written(t, Saver{}, g)
		if m.Graph.GetName() != want || m.Graph.Node[0].GetName() != "own" || m.Graph.Node[0].Domain != nil {
			t.Errorf("%q: graph %q, node %v", name, m.Graph.GetName(), m.Graph.Node[0])
		}
	}
	stripped := `data_type: 1 dims: 2 data_location: EXTERNAL external_data { key: "location" value: "{\"type\": \"stripped\", \"average\": 1.0, \"variance\": 0.5}" }`
	g := read(t, textModel(t, "input "+float("x", "2")+`initializer { name: "w" `+stripped+` } initializer { name: "v" `+stripped+` } node { op_type: "Sum" input: "x" input: "w" input: "v" output: "y" } output `+float("y", "2")))
	change(t, g, func(e *nn.Edit) { e.RenameValue(e.Value("w"), "weight") })
	m := written(t, Saver{}, g)
	if p := m.Graph.Initializer; len(p) != 2 || p[0].GetName() != "weight" || p[1].GetName() != "v" || p[0].GetDataLocation() != onnxpb.TensorProto_EXTERNAL || m.Graph.Node[0].Input[1] != "weight" {
		t.Errorf("initializers %v, node %v", p, m.Graph.Node[0])
	}
}

// TestRetyped: an input that is given a type is declared so, also where the file was wider.
func TestRetyped(t *testing.T) {
	b := textModel(t, "input "+float("x", "N 3")+"node { op_type: \"Relu\" input: \"x\" output: \"y\" } output "+float("y", "N 3"))
	for _, m := range []*onnxpb.ModelProto{
		written(t, Saver{Inputs: []string{"x float32[5,3]"}}, read(t, b)),
		func() *onnxpb.ModelProto {
			g, err := Loader{Inputs: []string{"x float32[5,3]"}}.Read(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			return written(t, Saver{}, g)
		}(),
	} {
		if d := m.Graph.Input[0].GetType().GetTensorType().GetShape().GetDim(); d[0].GetDimValue() != 5 || d[1].GetDimValue() != 3 {
			t.Errorf("declared %v", d)
		}
	}
}

// TestInfosGo: value_info goes with the values that an edit removes; of a name that never had a value it stays.
func TestInfosGo(t *testing.T) {
	g := read(t, textModel(t, "input "+float("x", "2")+"input "+float("z", "2")+`initializer { name: "w" data_type: 1 dims: 2 float_data: [1, 2] }
		sparse_initializer { values { name: "s" data_type: 1 dims: 0 } dims: 2 }
		node { op_type: "Sum" input: "x" input: "w" input: "s" output: "h" } node { op_type: "Neg" input: "h" output: "y" } node { op_type: "Abs" input: "z" output: "u" }
		output `+float("y", "2")+"output "+float("u", "2")+"value_info "+float("x", "2")+"value_info "+float("w", "2")+"value_info "+float("s", "2")+"value_info "+float("h", "2")+"value_info "+float("ghost", "2")+"value_info "+float("z", "2")))
	names := func(m *onnxpb.ModelProto) (list []string) {
		for _, v := range m.Graph.ValueInfo {
			list = append(list, v.GetName())
		}
		return list
	}
	if got := names(written(t, Saver{}, g)); !slices.Equal(got, []string{"x", "w", "s", "h", "ghost", "z"}) {
		t.Errorf("as loaded: %q", got)
	}
	change(t, g, func(e *nn.Edit) {
		e.RemoveOutput("y")
		e.RenameValue(e.Value("z"), "other")
		e.RemoveInput("x")
	})
	m := written(t, Saver{}, g)
	if got := names(m); !slices.Equal(got, []string{"ghost", "other"}) {
		t.Errorf("after the edit: %q, inputs %v, initializers %d", got, m.Graph.Input, len(m.Graph.Initializer))
	}
}

// TestCaptures: subgraphs of an operator that graft does not know read the values that are meant, whatever the order of the attributes.
func TestCaptures(t *testing.T) {
	body := func(name, reads string) string {
		return `attribute { name: "` + name + `" type: GRAPH g { name: "` + name + `" node { op_type: "Abs" input: "` + reads + `" output: "` + name + `_out" } output { name: "` + name + `_out" } } } `
	}
	g := read(t, textModel(t, "input "+float("x", "2")+`node { op_type: "Relu" input: "x" output: "p" } node { op_type: "Neg" input: "x" output: "q" }
		node { op_type: "Unknown" domain: "test" output: "y" `+body("second", "q")+body("first", "p")+` } output `+float("y", "2")))
	change(t, g, func(e *nn.Edit) {
		e.RenameValue(e.Value("p"), "pp")
		e.RenameValue(e.Value("q"), "qq")
	})
	a := written(t, Saver{}, g).Graph.Node[2].Attribute
	if a[0].G.Node[0].Input[0] != "qq" || a[1].G.Node[0].Input[0] != "pp" {
		t.Errorf("%s reads %q, %s reads %q", a[0].GetName(), a[0].G.Node[0].Input, a[1].GetName(), a[1].G.Node[0].Input)
	}
}

// TestErrorStages: an error says once whether it was loading or saving, and of which node.
func TestErrorStages(t *testing.T) {
	plain := errors.New("why")
	for _, c := range []struct {
		err        error
		load, save string
	}{
		{plain, "load: why", "save: why"},
		{&nn.Error{Node: "n", Err: plain}, "load: n: why", "save: n: why"},
		{&nn.Error{Stage: "edit", Node: "n", Err: plain}, "edit: n: why", "save: n: why"},
		{&nn.Error{Stage: "run", Node: "n", Err: plain}, "run: n: why", "run: n: why"},
		{fmt.Errorf("entry 0: %w", &nn.Error{Node: "n", Err: plain}), "load: entry 0: n: why", "save: entry 0: n: why"},
	} {
		save := saveError(c.err) // first: it changes a copy
		if load := loadError(c.err); load.Error() != c.load || save.Error() != c.save || !errors.Is(load, plain) || !errors.Is(save, plain) {
			t.Errorf("got %v and %v, want %s and %s", load, save, c.load, c.save)
		}
	}
	if err := saveError(nil); err != nil {
		t.Error(err)
	}
	in := "input " + float("x", "2")
	for graph, want := range map[string]string{
		in + `node { op_type: "If" name: "choice" input: "x" output: "y" attribute { name: "then_branch" type: GRAPH g { node { name: "inner" output: "z" } output { name: "z" } } } } output ` + float("y", "2"): "load: If choice: attribute then_branch: inner: a node has no operator",
		in + `node { input: "x" output: "" output: "b" }`: "load: b: a node has no operator",
		in + `node { input: "x" }`:                        "load: #0: a node has no operator",
	} {
		if _, err := Read(bytes.NewReader(textModel(t, graph))); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for change, want := range map[[2]string]string{
		{`input: "m" input: "s"`, `input: "m" input: "ghost"`}:                                                                                `function my.Scaled reads "ghost", which nothing computes`,
		{`op_type: "Twice" domain: "my" name: "call"`, `op_type: "Twice" domain: "my" overload: "o" name: "call"`}:                            `no overload "o" of the function is defined`,
		{`output: "k" attribute { name: "value_float"`, `output: "k" attribute { name: "value_float" f: 1 } attribute { name: "value_float"`}: `load: Constant k: attribute value_float is given twice`,
	} {
		if _, err := Read(bytes.NewReader(fullModel(t, strings.Replace(functionModel, change[0], change[1], 1)))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
