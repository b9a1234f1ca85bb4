package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/cmd/graft/demo"
	"github.com/graft-ml/graft/internal/glyph"
)

// TestEvalReport checks the tables, images and HTML page that eval writes besides metrics, also for a
// subset of the model's classes.
func TestEvalReport(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "digits.onnx"), demo.Model(), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, letters := range map[string]string{"fit": "ABE", "two": "BE", "one": "E", "other": "BX"} {
		if _, err := glyph.WriteFolder(filepath.Join(dir, name), letters, 30, 1); err != nil {
			t.Fatal(err)
		}
	}
	rare(t, filepath.Join(dir, "rare.csv"))
	expect(t, dir, [][3]string{
		{"train digits.onnx --data fit/ --head-only -o abe.onnx", "validation: accuracy", ""},
		{"eval abe.onnx --data fit/ --per-class", "class  precision  recall", ""},
		{"eval abe.onnx --data fit/ --worst 2", filepath.Join(dir, "fit"), ""},
		{"eval abe.onnx --data fit/ --worst 3 --confusion c.png --calibration k.png -o page.html", "ece ", ""},
		{"eval abe.onnx --data two/ --per-class", "30 samples", ""},
		{"eval abe.onnx --data one/ --metric confusion", "actual, predicted", ""},
		{"eval abe.onnx --data other/", "", "the data have the classes B, X, the model knows A, B, E"},
		{"eval abe.onnx --data fit/ --worst -1", "", "--worst -1: want 0 or more"},
		{"eval abe.onnx --data fit/ --confusion none/c.png", "", "c.png: cannot be written: no such file or folder"},
		{"train digits.onnx --data one/ --head -o never.onnx", "", "has one class, E: classification needs two or more, with a folder for each"},
	})
	html, err := os.ReadFile(filepath.Join(dir, "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(html), "data:image/png;base64,"); n != 5 || !strings.Contains(string(html), "Largest losses") || !strings.Contains(string(html), "<th>precision</th>") {
		t.Errorf("the page has %d images, want 5: %.400s", n, html)
	}
	out, err := in(dir, "eval abe.onnx --data two/ --worst 2 --per-class --json")
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Worst []struct {
			Sample, Is, Said string
			Loss             float64
		}
		PerClass []struct{ Samples int } `json:"per_class"`
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Worst) != 2 || r.Worst[0].Loss < r.Worst[1].Loss || len(r.PerClass) != 3 ||
		r.PerClass[0].Samples != 0 || r.PerClass[1].Samples != 15 || !strings.Contains(r.Worst[0].Sample, filepath.Join(dir, "two")) {
		t.Errorf("%s, %v", out, err)
	}
}

// A table's worst rows are named by their lines, in the target's unit.
func TestEvalTableReport(t *testing.T) {
	dir := t.TempDir()
	rare(t, filepath.Join(dir, "rare.csv"))
	classifier(t, filepath.Join(dir, "two.onnx"), 3, 2)
	expect(t, dir, [][3]string{
		{"train --new tabular --data rare.csv --target depth --task regression --epochs 2 -o depth.onnx", "best is epoch", ""},
		{"eval depth.onnx --data rare.csv --worst 2", "line ", ""},
		{"eval depth.onnx --data rare.csv --per-class", "", "--per-class is for classes, with a score for each"},
		{"eval two.onnx --data rare.csv --worst 2 --per-class -o p.html", "cat", ""},
	})
	if b, err := os.ReadFile(filepath.Join(dir, "p.html")); err != nil || !strings.Contains(string(b), "line ") {
		t.Errorf("the page: %v", err)
	}
}
