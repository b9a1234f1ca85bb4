package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
)

// TestBrokenObjects checks that text that is not JSON is found by object, line, key and position.
func TestBrokenObjects(t *testing.T) {
	for text, want := range map[string]string{
		"{\"x\":[1,2]}\n{\"x\":[1,NaN]}\n":             "object 2 (line 2): x[1] is NaN, want a finite number",
		"{\"x\":[[1,2],[3,-Infinity]]}":                "object 1 (line 1): x[1][1] is -Infinity, want a finite number",
		"{\"x\":[1],\n\"label\": inf}":                 "object 1 (line 2): label is inf, want a finite number",
		"[{\"x\":[1,2]},\n{\"a\":{\"b\":[0,NaN]}}]":    "object 2 (line 2): a.b[1] is NaN, want a finite number",
		"{\"x\":[1,2]}\n\n{\"x\":[1,2}\n":              "object 2 (line 3): x[2]: invalid character '}' after array element",
		"{\"x\":1}\n{y:2}\n":                           "object 2 (line 2): invalid character 'y' looking for beginning of object key string",
		"{\"x\":1}\n{\"x\":":                           "object 2: the text is truncated",
		"{\"x\":\"NaN, and { [ in a text\",\"y\":nan}": "object 1 (line 1): y is nan, want a finite number",
	} {
		if _, err := objects(t.Context(), []byte(text)); err == nil || plainError(err).Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := objects(t.Context(), []byte(`{"a":`+strings.Repeat("[", 200_000))); err == nil || !strings.Contains(err.Error(), "object 1: ") || !strings.Contains(err.Error(), "exceeded max depth") {
		t.Errorf("deep lists: %.200v", err)
	}
	if p, ok := brokenAt([]byte(strings.Repeat("[", 200_000) + "?")); ok {
		t.Errorf("deeper than any value: %v", p)
	}
}

// TestInputNamedLikeTarget checks that data for an input that is called y are not taken for the target.
func TestInputNamedLikeTarget(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	g := nn.New("sum")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("z", e.Apply(nn.Sequential{layers.Concat{}, layers.Linear{Out: 2}}, e.Input("x", "float32[N,2]"), e.Input("y", "float32[N,2]")))
	}); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save(in("m.onnx"), g); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat(`{"x":[1,2],"y":[3,4],"kind":0,"label":1}`+"\n", 4)
	if err := os.WriteFile(in("d.jsonl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := command("eval", in("m.onnx"), "--data", in("d.jsonl")); err != nil || !strings.Contains(out, "accuracy") {
		t.Errorf("%q %v", out, err)
	}
	if _, err := command("eval", in("m.onnx"), "--data", in("d.jsonl"), "--target", "color"); err == nil || !strings.Contains(err.Error(), "no target under color; it has kind, label, x, y") {
		t.Error(err)
	}
}
