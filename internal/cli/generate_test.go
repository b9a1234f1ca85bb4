package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/onnxio"
)

// TestGenerateCommand checks that generate writes the package, named after its folder, and prints its number of lines.
func TestGenerateCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "digits")
	out, err := command("generate", "../../cmd/graft/demo/digits.onnx", "-o", dir, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Package    string
		Files      []string
		Lines      int
		Operators  int
		Difference float64
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if said.Package != "digits" || said.Lines < 20 || said.Operators != 0 || said.Difference > 1e-5 || len(said.Files) != 2 {
		t.Errorf("%+v", said)
	}
	for _, name := range said.Files {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"", "missing -o FOLDER, the folder to write the package to"},
		{"-o " + dir + " --package my-net", `"my-net" cannot be the name of a package that others import`},
		{"-o " + filepath.Join(dir, "digits.go"), `"digits.go" cannot be the name of a package`},
	} {
		if _, err := command(append([]string{"generate", "../../cmd/graft/demo/digits.onnx"}, strings.Fields(c.args)...)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.args, err, c.want)
		}
	}
}

// everyStep is a recipe with most of what recipes can do.
const everyStep = `{"steps": [
  {"do": "input", "value": "image", "type": "float32[M,1,16,16]"},
  {"do": "activation", "layer": {"op": "leakyrelu", "alpha": 0.1}},
  {"do": "widen", "node": "/conv2/Conv", "factor": 1.5},
  {"do": "insert", "value": "/conv2/Conv_output_0", "layer": {"op": "batchnorm", "name": "extra"}, "prefer": "after"},
  {"do": "kernel", "node": "/conv2/Conv", "kernel": [5]},
  {"do": "mutate", "count": 1, "seed": 7, "weights": {"widen": 2}, "keep": ["/conv1/*"]},
  {"do": "head", "labels": ["a", "b"]},
  {"do": "annotate", "glob": ["/conv*"], "set": {"prune": "no", "stage": 2}},
  {"do": "anchor", "value": "/conv2/Conv_output_0", "set": {"stage": 3}},
  {"do": "insert", "value": "/conv1/Conv_output_0", "layer": {"op": "layernorm"}},
  {"do": "decompose", "glob": ["layernorm*"]},
  {"do": "freeze", "glob": ["/conv1/*"]}
]}`

// The Go source of a recipe does to a model what the recipe does.
func TestGenerateRecipe(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program")
	}
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	recipe := put("recipe.json", everyStep)
	changed := filepath.Join(dir, "changed.onnx")
	if _, err := command("edit", "../../cmd/graft/demo/digits.onnx", "--recipe", recipe, "-o", changed); err != nil {
		t.Fatal(err)
	}
	if _, err := command("generate", "../../cmd/graft/demo/digits.onnx", "--recipe", recipe, "-o", filepath.Join(dir, "change")); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	_, requires, _ := strings.Cut(read("go.mod"), "\ngo ")
	requires, _, _ = strings.Cut(requires, "\ntool")
	put("go.mod", "module example.com/m\n\ngo "+requires+"\nrequire github.com/graft-ml/graft v0.0.0\n\nreplace github.com/graft-ml/graft => "+root+"\n")
	put("go.sum", read("go.sum"))
	put("main.go", `package main

import (
	"log"
	"os"

	"example.com/m/change"
	"github.com/graft-ml/graft/onnxio"
)

func main() {
	g, err := onnxio.Load(os.Args[1])
	if err == nil {
		err = change.Edit(g)
	}
	if err == nil {
		err = onnxio.Save(os.Args[2], g)
	}
	if err != nil {
		log.Fatal(err)
	}
}
`)
	again := filepath.Join(dir, "again.onnx")
	for _, args := range [][]string{{"vet", "./..."}, {"run", ".", filepath.Join(root, "cmd/graft/demo/digits.onnx"), again}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false -trimpath", "GOPROXY=off", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			text, _ := os.ReadFile(filepath.Join(dir, "change", "change.go"))
			t.Fatalf("go %v: %v\n%s\n%s", args, err, out, text)
		}
	}
	want, err := os.ReadFile(changed)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the source makes another model than the recipe: %d bytes, want %d", len(got), len(want))
	}
	if _, err := onnxio.Load(again); err != nil {
		t.Error(err)
	}
}

// A plan that removes channels is a list of cuts; one that does more is refused.
func TestGeneratePlan(t *testing.T) {
	dir := t.TempDir()
	plan := filepath.Join(dir, "plan.json")
	if _, err := command("prune", "../../cmd/graft/demo/digits.onnx", "--target", "channels=0.5", "--plan", plan, "-o", filepath.Join(dir, "small.onnx")); err != nil {
		t.Fatal(err)
	}
	if _, err := command("generate", "../../cmd/graft/demo/digits.onnx", "--recipe", plan, "-o", filepath.Join(dir, "cuts")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "cuts", "cuts.go"))
	if err != nil || !strings.Contains(string(text), "e.Cut(nn.Cut{Initializer: ") {
		t.Errorf("%v\n%s", err, text)
	}
	if err := os.WriteFile(plan, []byte(`{"model": "m", "cuts": [], "resizes": [{}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := command("generate", "../../cmd/graft/demo/digits.onnx", "--recipe", plan, "-o", dir); err == nil || !strings.Contains(err.Error(), "a plan that does more than remove channels cannot be written as Go") {
		t.Error(err)
	}
}
