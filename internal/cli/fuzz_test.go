package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/cmd/graft/demo"
	"github.com/graft-ml/graft/onnxio"
)

// FuzzRecipe reads recipes of any bytes and plans them for a small model: what is wrong is an error, nothing panics,
// and the plan alone changes nothing.
func FuzzRecipe(f *testing.F) {
	for _, s := range []string{
		`{"steps": [{"do": "remove", "node": "conv1", "prefer": "after"}]}`,
		`{"steps": [{"do": "insert", "value": "x", "layer": {"op": "relu"}}, {"do": "rename", "node": "a", "to": "b"}]}`,
		`{"steps": [{"do": "mutate", "count": 1, "seed": 7}]}`,
		`{"steps": [{"do": "head", "classes": 3}, {"do": "channels", "node": "conv1", "channels": -1}]}`,
		`{"steps": [{"do": "kernel", "node": "conv1", "kernel": [5, 5, 5]}, {"do": "widen", "node": "conv1", "factor": 1e9}]}`,
		`{"steps": [{"do": "activation", "layer": {"op": "leakyrelu", "alpha": 0.1}, "glob": ["*"]}]}`,
	} {
		f.Add([]byte(s))
	}
	model := filepath.Join(f.TempDir(), "m.onnx")
	if err := os.WriteFile(model, demo.Model(), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "recipe.json")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := readRecipe(path)
		if err != nil || len(r.Steps) > 8 {
			return
		}
		for _, s := range r.Steps {
			if s.Count > 4 {
				return // long, as asked for
			}
		}
		g, err := onnxio.Load(model)
		if err != nil {
			t.Fatal(err)
		}
		before := g.Version()
		if _, err := r.plan(g); err != nil && strings.Contains(err.Error(), "panic") {
			t.Fatal(err)
		}
		if err := g.Check(); err != nil || g.Version() != before {
			t.Errorf("the plan alone leaves version %d after %d, %v", g.Version(), before, err)
		}
	})
}
