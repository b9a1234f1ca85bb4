package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
)

// TestJoin checks that joining two halves of a model, one in an older operator set, gives the original model.
func TestJoin(t *testing.T) {
	dir := spoiled(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	run := func(line string) string {
		t.Helper()
		out, err := in(dir, strings.ReplaceAll(line, "", ""))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return out
	}
	run("new cnn --input 1,8,8 --classes 3 --width 4 --depth 1 -o whole.onnx")
	run("extract whole.onnx --to flatten1 -o first.onnx")
	run("extract whole.onnx --from flatten1 -o second.onnx")
	run("edit second.onnx --opset 15 -o older.onnx")
	if out := run("join first.onnx older.onnx -o joined.onnx"); !strings.Contains(out, "outputs [scores float32[N,3]]") {
		t.Error(out)
	}
	run("join first.onnx second.onnx --connect flatten1=flatten1 -o named.onnx")
	g, err := onnxio.Load(at("whole.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	feed, err := conformance.RandomInputs(g, map[string]int{"N": 2}, 1)
	if err != nil {
		t.Fatal(err)
	}
	want, err := g.Eval(context.Background(), feed, "scores")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"joined.onnx", "named.onnx"} {
		h, err := onnxio.Load(at(name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.Eval(context.Background(), feed, "scores")
		if err == nil {
			_, err = dtype.DefaultTolerance.Compare(got["scores"], want["scores"])
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	expect(t, dir, [][3]string{
		{"join first.onnx", "", "want two models, FIRST and SECOND, got 1 arguments"},
		{"join first.onnx second.onnx", "", "missing -o FILE, the file to write the model to"},
		{"join first.onnx second.onnx -o .", "", "is a folder, want a file"},
		{"join first.onnx missing.onnx -o no.onnx", "", "no such file"},
		{"join text.onnx second.onnx -o no.onnx", "", "not an ONNX model"},
		{"join first.onnx second.onnx --connect flatten1 -o no.onnx", "", "--connect flatten1: want OUTPUT=INPUT"},
		{"join first.onnx second.onnx --connect flatten=flatten1 -o no.onnx", "", `join: no value is named "flatten": did you mean "flatten1"?`},
		{"join first.onnx second.onnx --connect flatten1=x -o no.onnx", "", `join: no value is named "x"`},
		{"join whole.onnx second.onnx -o no.onnx", "", "[N,3]"},
		{"join first.onnx second.onnx --conect flatten1=flatten1 -o no.onnx", "", "did you mean --connect?"},
		{"edit whole.onnx -o no.onnx", "", "nothing to change: give --recipe FILE, or --batch-dim, --type, --channels, --compute, --inference, --simplify, --opset, --store"},
		{"edit whole.onnx --compute int8 -o no.onnx", "", "--compute int8: want float32 or float64"},
		{"edit whole.onnx --compute half -o no.onnx", "", "half"},
		{"edit whole.onnx --opset -1 -o no.onnx", "", "--opset -1: want 1 or more"},
		{"edit whole.onnx --opset 99 -o no.onnx", "", "99"},
	})
}

// TestEditByFlags checks the edits that need no recipe.
func TestEditByFlags(t *testing.T) {
	dir := t.TempDir()
	for _, c := range [][2]string{
		{"new cnn --input 1,8,8 --classes 3 -o model.onnx", "25 nodes"},
		{"edit model.onnx --type float32[N,1,16,16] -o changed.onnx", "want a name and a type such as"},
		{"edit model.onnx --batch-dim N -o same.onnx", "inputs [x float32[N,1,8,8]]"},
		{"edit model.onnx --simplify --opset 17 -o changed.onnx", "remove Dropout"},
	} {
		out, err := in(dir, c[0])
		if !strings.Contains(fmt.Sprint(out, err), c[1]) {
			t.Errorf("%v: %s, %v, want %q", c[0], out, err, c[1])
		}
	}
	g, err := onnxio.Load(filepath.Join(dir, "changed.onnx"))
	if err != nil || g.Opsets()[""] != 17 {
		t.Error(err, g.Opsets())
	}
}
