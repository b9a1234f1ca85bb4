package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/glyph"
	"github.com/graft-ml/graft/internal/oracle"
)

// TestPreparingRefused checks that settings of the image preprocessing take effect or are refused.
func TestPreparingRefused(t *testing.T) {
	dir := files(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	points(t, in("all.csv"), 1)
	classifier(t, in("two.onnx"), 3, 2)
	if _, err := glyph.WriteFolder(dir, "AB", 8, 1); err != nil {
		t.Fatal(err)
	}
	csv := "eval two.onnx --data all.csv --target kind "
	run := "run digits.onnx --input pic.png "
	for args, want := range map[string]string{
		csv + "--preset caffe": "--preset is for images, which " + in("all.csv") + " does not hold; --mean, --std and --range prepare numbers",
		csv + "--bgr":          "--bgr is for images",
		csv + "--size 32":      "--size is for images",
		csv + "--crop 1":       "--crop is for images",
		csv + "--std 0":        "--std [0]: want numbers that can be divided by",
		csv + "--mean 1,2":     "2 means or deviations for a sample of shape (3), want 1 or 3",
		run + "--preset x":     "--preset x: want one of unit, symmetric, raw, mnist, imagenet for images of one channel",
		run + "--bgr":          "--bgr: the model takes gray images",
		run + "--size 32":      "--size 32: the model's input is float32[",
		run + "--size big":     "--size big: want a number such as 224, or HEIGHTxWIDTH",
		run + "--crop 2":       "--crop 2: want a fraction above 0, up to 1",
		run + "--std 0":        "std is [0]",
		run + "--mean 1,2":     "mean has 2 values, want 1 or 1",
	} {
		var list []string
		for _, a := range strings.Fields(args) {
			if ext := filepath.Ext(a); ext == ".csv" || ext == ".onnx" || ext == ".png" {
				a = in(a)
			}
			list = append(list, a)
		}
		if _, err := command(list...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// A network that was trained on standardized digits finds that out, on files of bytes too, and settings count there.
func TestPreparingMeasured(t *testing.T) {
	model := oracle.Shared(t, "models", "mnist-bn-cnn", "model.onnx")
	mnist := oracle.Shared(t, "data", "mnist")
	for flags, accuracy := range map[string]string{"": "accuracy   0.9916", "--preset mnist": "accuracy   0.9916", "--mean 0.1307 --std 0.3081": "accuracy   0.9916", "--preset unit": "accuracy   0.6"} {
		out, err := command(append([]string{"eval", model, "--data", mnist}, strings.Fields(flags)...)...)
		if err != nil || !strings.Contains(out, accuracy) {
			t.Errorf("eval %s: %q, %v: want %s", flags, out, err, accuracy)
		}
	}
}

// TestEvalSaysPreparation checks that a preprocessing that eval has detected is printed beside the
// metrics; one that is stored or given is not.
func TestEvalSaysPreparation(t *testing.T) {
	dir := t.TempDir()
	if out, err := in(dir, "new cnn --input 3,16,16 --classes 2 --width 4 --depth 1 -o cnn.onnx"); err != nil {
		t.Fatal(out, err)
	}
	if _, err := glyph.WriteFolder(filepath.Join(dir, "letters"), "AB", 8, 1); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]string{"": "images: ", "--preset unit": ""} {
		var out, beside bytes.Buffer
		root := newRoot()
		root.SetOut(&out)
		root.SetErr(&beside)
		root.SetArgs(append([]string{"eval", filepath.Join(dir, "cnn.onnx"), "--data", filepath.Join(dir, "letters"), "--json"}, strings.Fields(flags)...))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := beside.String(); !strings.HasPrefix(got, want) || want == "" && got != "" || !strings.HasPrefix(out.String(), `{"metrics"`) {
			t.Errorf("%q: printed %q beside %q", flags, got, out.String())
		}
	}
}
