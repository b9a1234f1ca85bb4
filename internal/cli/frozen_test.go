package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
)

// TestFrozenIsKept checks that parameters frozen by --freeze stay frozen in the file, for the next
// training and for edits, until --freeze none.
func TestFrozenIsKept(t *testing.T) {
	dir := spoiled(t)
	weights := func(name string) map[string][]float32 {
		t.Helper()
		g, err := onnxio.Load(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all := map[string][]float32{}
		for p := range g.Params() {
			if dtype.Of(p.Data().Dtype()) == dtype.Float32 {
				all[p.Name()] = dtype.Slice[float32](p.Data())
			}
		}
		return all
	}
	train := func(model, flags, to, want string) {
		t.Helper()
		out, err := in(dir, "train "+model+" --data rare.csv --task classes --epochs 2 --policy manual --force -o "+to+flags)
		if err != nil || !strings.Contains(out, want) {
			t.Fatalf("%s: %v, want %q in %s", to, err, want, out)
		}
	}
	if _, err := command("new", "mlp", "--input", "3", "--classes", "2", "--hidden", "4", "-o", filepath.Join(dir, "m.onnx")); err != nil {
		t.Fatal(err)
	}
	train("m.onnx", " --freeze hidden*", "a.onnx", "")
	train("a.onnx", "", "b.onnx", "frozen, as the model's metadata say: hidden1.bias, hidden1.weight; --freeze none unfreezes them")
	train("b.onnx", " --freeze none", "c.onnx", "")
	train("c.onnx", "", "d.onnx", "")
	name := "hidden1.weight"
	for _, c := range []struct {
		a, b string
		want bool
	}{{"m.onnx", "a.onnx", true}, {"a.onnx", "b.onnx", true}, {"b.onnx", "c.onnx", false}, {"c.onnx", "d.onnx", false}} {
		x, y, equal := weights(c.a)[name], weights(c.b)[name], true
		for i := range x {
			equal = equal && x[i] == y[i]
		}
		if len(x) == 0 || equal != c.want {
			t.Errorf("%s of %s and %s alike: %v", name, c.a, c.b, equal)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "freeze.json"), []byte(`{"steps":[{"do":"freeze","glob":["hidden*"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := command("edit", filepath.Join(dir, "m.onnx"), "--recipe", filepath.Join(dir, "freeze.json"), "-o", filepath.Join(dir, "e.onnx")); err != nil {
		t.Fatal(err)
	}
	train("e.onnx", "", "f.onnx", "frozen, as the model's metadata say: hidden1.bias, hidden1.weight")
}

// TestStore checks that weights are stored in the requested type and give nearly the same outputs.
func TestStore(t *testing.T) {
	dir := spoiled(t)
	expect(t, dir, [][3]string{
		{"edit digits.onnx --store float16 -o half.onnx", "", ""},
		{"edit digits.onnx --store int8 -o q.onnx", "", "--store int8: want float16, bfloat16, float32 or float64"},
		{"train cnn.onnx --data letters/ --store half -o q.onnx", "", "--store half: want float16, bfloat16, float32 or float64"},
		{"predict half.onnx letters/ --csv", "A", ""},
	})
	size := func(name string) int64 {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if a, b := size("digits.onnx"), size("half.onnx"); b > a*2/3 {
		t.Errorf("%d bytes become %d", a, b)
	}
}
