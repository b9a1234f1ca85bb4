package cli

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
)

// The PNG file of a mask over HTTP is the one that predict writes; without ?png the answer is the scores.
func TestServePNG(t *testing.T) {
	t.Chdir(t.TempDir())
	squares(t, "seg", 1)
	for name, out := range map[string]int{"mask": 4, "image": 3} {
		g := nn.New(name)
		if err := g.Edit(func(e *nn.Edit) {
			e.Seed(1)
			e.Output("y", e.Apply(layers.Conv{Out: out, Kernel: []int{3}, Same: true}, e.Input("x", "float32[N,3,16,16]")))
		}); err != nil {
			t.Fatal(err)
		}
		if err := onnxio.Save("m.onnx", g); err != nil {
			t.Fatal(err)
		}
		if _, err := command("predict", "m.onnx", "seg/images/000.png", "--preset", "unit", "-o", name); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(name, "*."+name+".png"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		want, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile("seg/images/000.png")
		if err != nil {
			t.Fatal(err)
		}
		unit := quick
		unit.preset = "unit"
		s := serving(t, "m.onnx", unit)
		code, answer := post(t, s.URL+"/predict?png", "image/png", b)
		got, err := base64.StdEncoding.DecodeString(fmt.Sprint(answer[name]))
		if code != 200 || err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d %v, %v", name, code, answer, err)
		}
		if code, answer = post(t, s.URL+"/predict", "image/png", b); code != 200 || answer[name] != nil || len(answer) == 0 {
			t.Errorf("%s, scores: %d", name, code)
		}
	}
	classifier(t, "c.onnx", 3, 2)
	if code, answer := post(t, serving(t, "c.onnx", quick).URL+"/predict?png", "application/json", []byte(`{"x":[1,2,3]}`)); code != 400 || !strings.Contains(fmt.Sprint(answer["error"]), "png: the model's output is not a mask or an image") {
		t.Errorf("%d %v", code, answer)
	}
}
