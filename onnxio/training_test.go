package onnxio

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// trainedText is y = w·x with an algorithm that takes 0.1 times the gradient of (y−t)² off w, and counts.
const trainedText = `ir_version: 8 opset_import { version: 17 } opset_import { domain: "ai.onnx.preview.training" version: 1 }
	graph { name: "g"
		input { name: "x" type { tensor_type { elem_type: 1 shape { } } } }
		output { name: "y" type { tensor_type { elem_type: 1 shape { } } } }
		node { op_type: "Mul" name: "product" input: "w" input: "x" output: "y" }
		initializer { name: "w" data_type: 1 float_data: [3] } }
	training_info {
		initialization { name: "first" node { op_type: "Constant" output: "two" attribute { name: "value_float" type: FLOAT f: 2 } }
			output { name: "two" type { tensor_type { elem_type: 1 shape { } } } } }
		algorithm { name: "step"
			input { name: "t" type { tensor_type { elem_type: 1 shape { } } } }
			initializer { name: "count" data_type: 7 int64_data: [0] }
			initializer { name: "one" data_type: 7 int64_data: [1] }
			initializer { name: "rate" data_type: 1 float_data: [0.1] }
			node { op_type: "Sub" input: "y" input: "t" output: "error" }
			node { op_type: "Mul" input: "error" input: "error" output: "loss" }
			node { op_type: "Gradient" domain: "ai.onnx.preview.training" input: "w" input: "x" input: "t" output: "dw"
				attribute { name: "xs" type: STRINGS strings: "w" } attribute { name: "zs" type: STRINGS strings: "x" strings: "t" }
				attribute { name: "y" type: STRING s: "loss" } }
			node { op_type: "Mul" input: "rate" input: "dw" output: "move" }
			node { op_type: "Sub" input: "w" input: "move" output: "next" }
			node { op_type: "Add" input: "count" input: "one" output: "more" }
			output { name: "loss" type { tensor_type { elem_type: 1 shape { } } } }
			output { name: "next" type { tensor_type { elem_type: 1 shape { } } } }
			output { name: "more" type { tensor_type { elem_type: 7 shape { } } } } }
		initialization_binding { key: "w" value: "two" }
		update_binding { key: "w" value: "next" } update_binding { key: "count" value: "more" } }`

func trainedModel(t *testing.T, text string) *nn.Graph {
	t.Helper()
	g, err := Read(bytes.NewReader(fullModel(t, text)))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// oneStep evaluates the algorithm of the only entry at x = 5, t = 10: y is 15, the loss 25, the gradient 2·5·5.
func oneStep(t *testing.T, g *nn.Graph, x, y string) {
	t.Helper()
	list, err := TrainingInfo(g)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	out, err := list[0].Algorithm.Eval(context.Background(), nn.Feed{x: tensor.New(tensor.FromScalar(float32(5))), "t": tensor.New(tensor.FromScalar(float32(10)))}, y, list[0].Update[0].Output, list[0].Update[1].Output)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{y: 25, list[0].Update[0].Output: -2, list[0].Update[1].Output: 1} {
		got, err := dtype.Float64s(out[name].(*tensor.Dense))
		if err != nil || got[0] != want {
			t.Errorf("%s is %v, %v, want %v", name, got, err, want)
		}
	}
}

// TestTrainingInfo: an entry is read as one graph with the model, and saved as it was.
func TestTrainingInfo(t *testing.T) {
	g := trainedModel(t, trainedText)
	oneStep(t, g, "x", "loss")
	var first, second bytes.Buffer
	if err := Write(&first, g); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), fullModel(t, trainedText)) {
		t.Error("the file has changed")
	}
	list, err := TrainingInfo(g)
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0].First; !slices.Equal(got, []Binding{{"w", "two"}}) {
		t.Error(got)
	}
	if err := SetTrainingInfo(g, list); err != nil {
		t.Fatal(err)
	}
	if err := Write(&second, g); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&second)
	if err != nil {
		t.Fatal(err)
	}
	oneStep(t, again, "x", "loss")
}

// TestTrainingInfoFollows: names of the model that an entry uses are those of now, and its own give way to new ones.
func TestTrainingInfoFollows(t *testing.T) {
	g := trainedModel(t, trainedText)
	if err := g.Edit(func(e *nn.Edit) {
		e.RenameValue(e.Value("w"), "weight")
		e.RenameValue(e.Value("x"), "in")
		e.RenameValue(e.Value("y"), "loss")
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
	for _, g := range []*nn.Graph{g, again} {
		oneStep(t, g, "in", "loss_1")
		list, err := TrainingInfo(g)
		if err != nil || list[0].Update[0] != (Binding{"weight", "next"}) || list[0].First[0].Initializer != "weight" {
			t.Error(list, err)
		}
	}
	var converted bytes.Buffer
	if err := (Saver{Opset: 21}).Write(&converted, g); err != nil {
		t.Fatal(err)
	}
	if again, err = Read(&converted); err != nil || again.Opsets()[""] != 21 {
		t.Fatal(err)
	}
	oneStep(t, again, "in", "loss_1")
	for _, opset := range []int{21, 13} { // an edit changes the operator set
		if err := g.Edit(func(e *nn.Edit) { e.SetOpset(opset) }); err != nil {
			t.Fatal(err)
		}
		var edited bytes.Buffer
		if err := Write(&edited, g); err != nil {
			t.Fatal(err)
		}
		if again, err = Read(&edited); err != nil || again.Opsets()[""] != opset {
			t.Fatal(err)
		}
		oneStep(t, again, "in", "loss_1")
	}
}

// TestTrainingInfoGone: what an edit takes away is said, or the entry left out.
func TestTrainingInfoGone(t *testing.T) {
	g := trainedModel(t, trainedText)
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("z", e.Node(op.Plain("Neg"), e.Value("x")).Out(0))
		e.RemoveOutput("y")
	}); err != nil {
		t.Fatal(err)
	}
	const want = `training_info, entry 0, no longer fits the graph: the value "w" is gone`
	if err := Write(new(bytes.Buffer), g); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	var warned error
	var b bytes.Buffer
	if err := (Saver{Warn: func(err error) { warned = err }}).Write(&b, g); err != nil || warned == nil || !strings.Contains(warned.Error(), want+"; it is left out") {
		t.Error(err, warned)
	}
	if g, err := Read(&b); err != nil {
		t.Error(err)
	} else if list, err := TrainingInfo(g); len(list) > 0 || err != nil {
		t.Error(list, err)
	}
}

// TestTrainingInfoAlone: an entry may have no initialization, and one whose graph is empty has none.
func TestTrainingInfoAlone(t *testing.T) {
	begin, end := strings.Index(trainedText, "initialization {"), strings.Index(trainedText, "algorithm {")
	text := strings.Replace(trainedText[:begin]+trainedText[end:], `initialization_binding { key: "w" value: "two" }`, "", 1)
	for _, first := range []string{"", `initialization { name: "nothing" } `} {
		g := trainedModel(t, strings.Replace(text, "algorithm {", first+"algorithm {", 1))
		list, err := TrainingInfo(g)
		if err != nil || len(list) != 1 || list[0].Initialization != nil || len(list[0].First) != 0 {
			t.Errorf("%q: %v, %v", first, list, err)
		}
		oneStep(t, g, "x", "loss")
		if err := SetTrainingInfo(g, list); err != nil {
			t.Error(err)
		}
		oneStep(t, g, "x", "loss")
	}
	g := trainedModel(t, text)
	if err := g.Edit(func(e *nn.Edit) { // names that the entry uses itself, one and the next
		e.RenameValue(e.Value("y"), "error")
		e.Output("error_1", e.Node(op.Plain("Neg"), e.Value("error")).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	oneStep(t, g, "x", "loss")
	m := written(t, Saver{}, g)
	if got := m.TrainingInfo[0].Algorithm.Node[0].Output[0]; got != "error_2" {
		t.Errorf("the entry's own value is %q now", got)
	}
	own := trainedModel(t, strings.NewReplacer(`output: "error"`, `output: "error" output: ""`, `"loss"`, `"error_1"`).Replace(text))
	if err := own.Edit(func(e *nn.Edit) { e.RenameValue(e.Value("y"), "error") }); err != nil {
		t.Fatal(err)
	}
	if got := written(t, Saver{}, own).TrainingInfo[0].Algorithm.Node[0].Output[0]; got != "error_2" {
		t.Errorf("the entry has a value of the next name itself: %q", got)
	}
}

// TestTrainingInfoRefused: entries that break the standard's rules are kept in the file and refused by what is wrong.
func TestTrainingInfoRefused(t *testing.T) {
	for _, c := range [][3]string{
		{`update_binding { key: "w" value: "next" }`, `update_binding { key: "z" value: "next" }`, `update_binding: "z" is not an initializer of the model or of the algorithm`},
		{`update_binding { key: "w" value: "next" }`, `update_binding { key: "y" value: "next" }`, `update_binding: "y" is not an initializer of the model or of the algorithm`},
		{`update_binding { key: "w" value: "next" }`, `update_binding { key: "w" value: "move" }`, `update_binding: initializer "w" is bound to "move", which is not an output`},
		{`update_binding { key: "w" value: "next" }`, `update_binding { key: "count" value: "next" }`, `update_binding: initializer "count" is bound twice`},
		{`initialization_binding { key: "w" value: "two" }`, `initialization_binding { key: "w" value: "three" }`, `initialization_binding: initializer "w" is bound to "three", which is not an output`},
		{`input: "y" input: "t" output: "error"`, `input: "lost" input: "t" output: "error"`, `lost`},
		{`output: "error" }`, `output: "y" }`, `two values are named "y"`},
		{`initialization { name: "first"`, `initialization { name: "first" input { name: "i" type { tensor_type { elem_type: 1 shape { } } } }`, "the initialization has 1 inputs, want none"},
	} {
		g := trainedModel(t, strings.Replace(trainedText, c[0], c[1], 1))
		if _, err := TrainingInfo(g); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s: %v, want %s", c[1], err, c[2])
		}
		var b bytes.Buffer
		if err := Write(&b, g); err != nil {
			t.Errorf("%s: %v", c[1], err)
		}
	}
}

// TestTrainingInfoOfPython: a file that onnx's helper made is read, and onnx reads ours.
func TestTrainingInfoOfPython(t *testing.T) {
	dir := t.TempDir()
	oracle.Torch(t, filepath.Join("testdata", "traininginfo.py"), "make", filepath.Join(dir, "made.onnx"))
	g, err := Load(filepath.Join(dir, "made.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := TrainingInfo(g)
	if err != nil || len(list) != 1 || len(list[0].Update) != 4 {
		t.Fatal(list, err)
	}
	if err := g.Edit(func(e *nn.Edit) { e.RenameValue(e.Value("W"), "weight") }); err != nil {
		t.Fatal(err)
	}
	if err := Save(filepath.Join(dir, "ours.onnx"), g); err != nil {
		t.Fatal(err)
	}
	out := oracle.Torch(t, filepath.Join("testdata", "traininginfo.py"), "check", filepath.Join(dir, "ours.onnx"))
	if !strings.Contains(string(out), "weight:W_new") {
		t.Errorf("%s", out)
	}
}
