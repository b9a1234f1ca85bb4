package onnxio

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// referring writes a model whose weight, or a constant in an attribute of a node, is stored at a location.
func referring(t *testing.T, path, location string, inAttribute bool) {
	t.Helper()
	w := fmt.Sprintf(`{ name: "w" data_type: 1 dims: 2000 data_location: EXTERNAL external_data { key: "location" value: %q } }`, location)
	text := `node { op_type: "Add" input: "x" input: "w" output: "y" } input ` + float("x", "2000") + ` output { name: "y" } `
	if inAttribute {
		text = `node { op_type: "Constant" output: "w" attribute { name: "value" type: TENSOR t ` + w + ` } } ` + text
	} else {
		text += "initializer " + w
	}
	if err := os.WriteFile(path, textModel(t, text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSaveOverExternalData: a model is not written over the external data of another one, by whatever path.
func TestSaveOverExternalData(t *testing.T) {
	for _, c := range []struct {
		location, path string
		inAttribute    bool
	}{
		{"w.bin", "w.bin", false}, {"./w.bin", "w.bin", false}, {"w.bin", "sub/../w.bin", false}, {"w.bin", "link.bin", false}, {"w.bin", "hard.bin", false},
		{"w.bin", "around/w.bin", false}, {"sub/w.bin", "sub/w.bin", false}, {"w.bin", "w.bin", true},
	} {
		dir := t.TempDir()
		in := func(name string) string { return dir + "/" + name }
		if err := os.Mkdir(in("sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		referring(t, in("m.onnx"), c.location, c.inAttribute)
		if err := os.WriteFile(in(c.location), make([]byte, 8000), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, make := range map[string]func() error{
			"link.bin": func() error { return os.Symlink("w.bin", in("link.bin")) },
			"hard.bin": func() error { return os.Link(in(c.location), in("hard.bin")) },
			"around":   func() error { return os.Symlink(".", in("around")) },
		} {
			if err := make(); err != nil {
				t.Skip(name, err)
			}
		}
		g, err := Load(in("m.onnx"))
		if err != nil {
			t.Fatal(err)
		}
		if err := Save(in(c.path), g); err == nil || !strings.Contains(err.Error(), "has the external data of ") || !strings.Contains(err.Error(), "m.onnx, which") {
			t.Errorf("%+v: Save: %v", c, err)
		}
		if _, err := (Stripper{}).Strip(in("m.onnx"), in(c.path)); err == nil {
			t.Errorf("%+v: Strip has replaced it", c)
		}
		if b, err := os.ReadFile(in(c.location)); err != nil || len(b) != 8000 {
			t.Errorf("%+v: %d bytes are left, %v", c, len(b), err)
		}
	}
}

// TestDataOfAnotherSpelling: data that another model needs are kept when the model that is called like them is replaced, whichever way that model
// spells their path, and wherever in it.
func TestDataOfAnotherSpelling(t *testing.T) {
	for _, c := range []struct {
		location    string
		inAttribute bool
	}{{"m.onnx.data", false}, {"./m.onnx.data", false}, {"sub/../m.onnx.data", false}, {"m.onnx.data", true}} {
		dir := t.TempDir()
		path := filepath.Join(dir, "m.onnx")
		if err := (Saver{ExternalOver: 1000}).Save(path, constants(t, 1)); err != nil {
			t.Fatal(err)
		}
		referring(t, filepath.Join(dir, "other.onnx"), c.location, c.inAttribute)
		if err := (Saver{ExternalOver: 1000}).Save(path, constants(t, 2)); err != nil {
			t.Fatal(err)
		}
		if holds(path) != 2 {
			t.Error("the model was not replaced")
		}
		if _, err := Load(filepath.Join(dir, "other.onnx")); err != nil {
			t.Errorf("%+v: the other model: %v", c, err)
		}
	}
}
