package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/glyph"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
)

// TestTrainingModeFile checks that commands that run a file exported in training mode warn, and that
// edit and train convert it.
func TestTrainingModeFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := command(strings.Fields("new cnn --input 1,28,28 --classes 2 --width 4 --depth 1 -o m.onnx")...); err != nil {
		t.Fatal(err)
	}
	g, err := onnxio.Load("m.onnx")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Edit(func(e *nn.Edit) { e.TrainingMode() }); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save("training.onnx", g); err != nil {
		t.Fatal(err)
	}
	const what = "3 BatchNormalization and 1 Dropout run as in training"
	if out, err := command("inspect", "training.onnx", "--brief"); err != nil || !strings.Contains(out, "training     "+what) {
		t.Error(out, err)
	}
	if out, err := command("inspect", "training.onnx", "--json"); err != nil || !strings.Contains(out, `"training_mode":{"BatchNormalization":3,"Dropout":1}`) {
		t.Error(out, err)
	}
	warned := func(args string) string {
		t.Helper()
		root := newRoot()
		var out, notes bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&notes)
		root.SetArgs(strings.Fields(args))
		if err := root.Execute(); err != nil {
			t.Fatal(err, notes.String())
		}
		return notes.String()
	}
	if _, err := glyph.WriteFolder("data", "AB", 24, 1); err != nil {
		t.Fatal(err)
	}
	want := "training.onnx was exported in training mode: " + what + ", so that results depend on the other samples of a batch or are random; graft edit training.onnx --inference -o FILE fixes it\n"
	for _, args := range []string{"predict %s data --preset unit", "eval %s --data data --preset unit"} {
		if notes := warned(strings.ReplaceAll(args, "%s", "training.onnx")); !strings.Contains(notes, want) {
			t.Errorf("%s: %s", args, notes)
		}
	}
	if out, err := command(strings.Fields("edit training.onnx --inference -o mended.onnx")...); err != nil || !strings.Contains(out, "4 nodes converted from training mode to inference mode") {
		t.Error(out, err)
	}
	if notes := warned("predict mended.onnx data --preset unit"); strings.Contains(notes, "training mode") {
		t.Error(notes)
	}
	out, err := command(strings.Fields("train training.onnx --data data --preset unit --epochs 1 --lr 1e-3 -o trained.onnx")...)
	if err != nil || !strings.Contains(out, "the model was exported in training mode, "+what+": it is evaluated, and saved, in inference mode") {
		t.Error(out, err)
	}
	for _, file := range []string{"mended.onnx", "trained.onnx"} {
		if g, err = onnxio.Load(file); err != nil || len(g.TrainingNodes()) > 0 {
			t.Errorf("%s: %v train, %v", file, g.TrainingNodes(), err)
		}
	}
}
