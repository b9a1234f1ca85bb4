package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
)

// cnn writes a small model and returns its path.
func cnn(t *testing.T, dir string) string {
	t.Helper()
	g := nn.New("cnn")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,1,4,4]")
		e.Output("y", e.Apply(nn.Sequential{
			layers.Conv{Out: 16, Kernel: []int{3}, Same: true, Name: "a"}, layers.ReLU{Name: "act"}, layers.Conv{Out: 16, Kernel: []int{3}, Same: true, Name: "b"},
			layers.ReLU{}, layers.Flatten{}, layers.Linear{Out: 3, Name: "fc"},
		}, x))
	}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "cnn.onnx")
	if err := onnxio.Save(path, g); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPruneAndEdit(t *testing.T) {
	dir := t.TempDir()
	model := cnn(t, dir)
	in := func(name string) string { return filepath.Join(dir, name) }
	recipe := func(name, text string) string {
		if err := os.WriteFile(in(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return in(name)
	}
	good := recipe("good.json", `{"steps":[{"do":"resize","value":"a","channels":12},{"do":"replace","node":"act","layer":{"op":"silu"}},{"do":"head","classes":5}]}`)
	bad := recipe("bad.json", `{"steps":[{"do":"resize","value":"a"}]}`)
	for _, c := range []struct {
		args []string
		want string
		err  string
	}{
		{[]string{"prune", model, "--target", "macs=0.5", "--round-to", "4", "--plan", in("plan.json"), "-o", in("small.onnx")}, "multiply-adds", ""},
		{[]string{"prune", model, "--replay", in("plan.json"), "-o", in("again.onnx")}, "multiply-adds", ""},
		{[]string{"prune", model, "--target", "params=0.6", "--criterion", "lamp", "--dry-run", "--json"}, `"cuts"`, ""},
		{[]string{"prune", model, "--target", "macs=0.5", "--criterion", "taylor", "--dry-run"}, "", "needs --data"},
		{[]string{"prune", model, "--target", "size=1", "--dry-run"}, "", "want macs"},
		{[]string{"prune", model, "--target", "macs=half", "--dry-run"}, "", `"half" is not a fraction`},
		{[]string{"prune", model, "--target", "macs=0", "--dry-run"}, "", "want the fraction to keep, above 0"},
		{[]string{"prune", model, "--round-to", "-3", "--dry-run"}, "", "--round-to is -3"},
		{[]string{"prune", model, "--ignore", "none*", "--dry-run"}, "", "--ignore none*: no node or parameter has such a name"},
		{[]string{"prune", model, "--criterion", "luck", "--dry-run"}, "", "want one of bn, fpgm"},
		{[]string{"prune", model}, "", "-o FILE"},
		{[]string{"edit", model, "--recipe", good, "-o", in("edited.onnx")}, "16 → 12", ""},
		{[]string{"edit", model, "--recipe", bad, "-o", in("never.onnx")}, "", `resize needs "channels"`},
	} {
		root := newRoot()
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetArgs(c.args)
		err := root.Execute()
		switch {
		case c.err == "" && err != nil:
			t.Errorf("%v: %v", c.args, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%v: %v, want %q", c.args, err, c.err)
		case !strings.Contains(out.String(), c.want):
			t.Errorf("%v printed %s", c.args, out.String())
		}
	}
	a, _ := os.ReadFile(in("small.onnx"))
	b, _ := os.ReadFile(in("again.onnx"))
	if len(a) == 0 || !bytes.Equal(a, b) {
		t.Error("the replayed plan makes another model")
	}
}
