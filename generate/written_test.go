package generate_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/generate"
	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
)

// update writes testdata/exports.zip and testdata/written.txt again, after a change that is meant; it needs PyTorch.
var update = nntest.Update

const exports = "testdata/exports.zip"

// TestWritten: the source of small models as PyTorch exports them, and of those of models, in both styles: the text is that of testdata/written,
// and computes what the model computes. Their weights are removed from exports.zip, and drawn anew.
func TestWritten(t *testing.T) {
	if *update {
		exportAgain(t)
	}
	all := models(t)
	maps.Copy(all, exported(t))
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, style := range []string{generate.Layers, generate.Gorgonia} {
			fmt.Fprintf(&text, "=== %s, %s\n", name, style)
			s, err := generate.Generate(t.Context(), all[name], generate.Options{Package: "net", From: name + ".onnx", Style: style})
			if err != nil {
				fmt.Fprintln(&text, err)
				continue
			}
			fmt.Fprintf(&text, "%d layers, %d operators, %d functions\n%s", s.Layers, s.Operators, s.Functions, s.Files["net.go"])
			for _, note := range s.Notes {
				fmt.Fprintln(&text, "note:", note)
			}
			if s.Difference < 0 || s.Difference > 1e-5 {
				t.Errorf("%s, %s: the outputs differ by %g", name, style, s.Difference)
			}
		}
	}
	const file = "testdata/written.txt"
	if *update {
		if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	model := ""
	old := strings.Split(string(want), "\n")
	for i, line := range strings.Split(text.String(), "\n") {
		if strings.HasPrefix(line, "===") {
			model = line
		}
		if i >= len(old) || old[i] != line {
			t.Fatalf("%s\nline %d is %s\nwant %s\nif this is meant: go test ./generate -run TestWritten -update", model, i+1, line, old[min(i, len(old)-1)])
		}
	}
}

// exported returns the models of exports.zip by name.
func exported(t *testing.T) map[string]*nn.Graph {
	t.Helper()
	z, err := zip.OpenReader(exports)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	all, file := map[string]*nn.Graph{}, filepath.Join(t.TempDir(), "model.onnx")
	for _, f := range z.File {
		b, err := fs.ReadFile(z, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := (onnxio.Unstripper{}).Unstrip(file, ""); err != nil {
			t.Fatal(f.Name, err)
		}
		all[strings.TrimSuffix(f.Name, ".onnx")] = load(t, file)
	}
	return all
}

// exportAgain writes exports.zip.
func exportAgain(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, script := range []string{"attentions.py", "small.py"} {
		oracle.Torch(t, filepath.Join("testdata", script), dir)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, file := range files {
		if _, err := (onnxio.Stripper{Over: 300}).Strip(file, ""); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		w, err := z.Create(filepath.Base(file))
		if err == nil {
			_, err = io.Copy(w, f)
		}
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(exports, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
