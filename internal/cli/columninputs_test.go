package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
)

// TestColumnsAsInputs trains models whose inputs are columns of a table: the policy chooses the rate, and fits the classifier first. A run
// with settings of its own is made as they say.
func TestColumnsAsInputs(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, outputs := range map[string][]string{"one.onnx": {"kind"}, "two.onnx": {"kind", "load"}} {
		g := nn.New("columns")
		if err := g.Edit(func(e *nn.Edit) {
			h := e.Apply(nn.Sequential{layers.Concat{}, layers.Linear{Out: 16}, layers.ReLU{}}, e.Input("w", "float32[N,1]"), e.Input("h", "float32[N,1]"))
			for i, out := range outputs {
				e.Output(out, e.Apply(layers.Linear{Out: 3 - 2*i, Name: "last " + out}, h))
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := onnxio.Save(in(name), g); err != nil {
			t.Fatal(err)
		}
	}
	both, one := "load,kind,h,w\n", "kind,h,w\n"
	for i := range 90 {
		w, h := float64(i%9)/2-2, float64(i%10)/2-2.25
		kind := []string{"flat", "tall", "wide"}[i%9/3]
		both += fmt.Sprintf("%v,%s,%v,%v\n", w+2*h, kind, h, w)
		one += fmt.Sprintf("%s,%v,%v\n", kind, h, w)
	}
	for name, text := range map[string]string{"both.csv": both, "one.csv": one} {
		if err := os.WriteFile(in(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ model, data, target string }{{"one.onnx", "one.csv", "kind"}, {"two.onnx", "both.csv", ""}} {
		args := []string{"train", in(c.model), "--data", in(c.data), "-o", in("out.onnx"), "--force", "--epochs", "12"}
		if c.target != "" {
			args = append(args, "--target", c.target)
		}
		out, err := command(args...)
		if err != nil || !strings.Contains(out, "\npolicy: AdamW at ") {
			t.Fatal(c, out, err)
		}
		out, err = command("eval", in("out.onnx"), "--data", in(c.data), "--json")
		var found struct{ Metrics map[string]float64 }
		last(t, out, &found)
		if accuracy := max(found.Metrics["accuracy"], found.Metrics["kind/accuracy"]); err != nil || accuracy < 0.9 {
			t.Errorf("%v: accuracy %v, %v", c, accuracy, err)
		}
		if out, err = command(append(args, "--lr", "0.01")...); err != nil || strings.Contains(out, "policy: ") || !strings.Contains(out, "best is epoch") {
			t.Error(c, out, err)
		}
	}
}
