package cli

import (
	"archive/zip"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/npy"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// An archive with an array for each input and each output trains and evaluates all outputs, by name.
func TestSeveralTargets(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	g := nn.New("two")
	if err := g.Edit(func(e *nn.Edit) {
		h := e.Apply(nn.Sequential{layers.Linear{Out: 6, Name: "body"}, layers.Tanh{}}, e.Input("x", "float32[N,2]"))
		e.Output("class", e.Apply(layers.Linear{Out: 3, Name: "a"}, h))
		e.Output("value", e.Apply(layers.Linear{Out: 1, Name: "b"}, h))
	}); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save(in("two.onnx"), g); err != nil {
		t.Fatal(err)
	}
	x, class, value := make([]float64, 120), make([]uint8, 60), make([]float64, 60)
	for i := range class {
		x[2*i], x[2*i+1] = float64(i%5)-2, float64(i%3)-1
		class[i], value[i] = uint8(i%3), x[2*i]/2
	}
	archive(t, in("a.npz"), map[string]*tensor.Dense{
		"x":     tensor.New(tensor.WithShape(60, 2), tensor.WithBacking(x)),
		"class": tensor.New(tensor.WithShape(60), tensor.WithBacking(class)),
		"value": tensor.New(tensor.WithShape(60, 1), tensor.WithBacking(value)),
	})
	out, err := command("train", in("two.onnx"), "--data", in("a.npz"), "--epochs", "30", "--batch", "10", "--lr", "0.02", "-o", in("out.onnx"))
	if err != nil || !strings.Contains(out, "array for input x converted from float64 to float32") {
		t.Fatal(out, err)
	}
	out, err = command("eval", in("out.onnx"), "--data", in("a.npz"))
	if err != nil || !strings.Contains(out, "class/accuracy") || !strings.Contains(out, "value/mae") {
		t.Error(out, err)
	}
	byHand, err := command("train", in("two.onnx"), "--data", in("a.npz"), "--epochs", "6", "--policy", "manual", "-o", in("out.onnx"))
	if err != nil {
		t.Fatal(byHand, err)
	}
	out, err = command("train", in("two.onnx"), "--data", in("a.npz"), "--epochs", "6", "-o", in("out.onnx"))
	if err != nil || !strings.Contains(out, "2 targets: the sum of their losses is trained\n") || !strings.Contains(out, "policy: AdamW at ") {
		t.Error(out, err)
	}
	if r2, usual := lastFigure(out, "value/r2"), lastFigure(byHand, "value/r2"); !(r2 > usual) {
		t.Errorf("rates that were tried give an r² of %v, AdamW's usual one %v", r2, usual)
	}
	if _, err = command("train", in("two.onnx"), "--data", in("a.npz"), "--head-only", "-o", in("out.onnx")); err == nil || err.Error() != "--policy head-only is for one target, the data have 2: --freeze keeps layers from being trained" {
		t.Error(err)
	}
}

// lastFigure returns the figure that follows the last mention of a name; NaN where there is none.
func lastFigure(out, name string) float64 {
	at := strings.LastIndex(out, name+" ")
	if at < 0 {
		return math.NaN()
	}
	var x float64
	if _, err := fmt.Sscan(strings.TrimRight(strings.Fields(out[at+len(name):])[0], ","), &x); err != nil {
		return math.NaN()
	}
	return x
}

// archive writes an .npz file.
func archive(t *testing.T, path string, arrays map[string]*tensor.Dense) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for name, a := range arrays {
		w, err := z.Create(name + ".npy")
		if err == nil {
			err = npy.Write(w, a)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

// Measured targets of large variance do not dominate the classes: the squared error is relative to the variance, and the
// target's mean and deviation become part of the model, which is continued as it is.
func TestSeveralTargetsScaled(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	g := nn.New("two")
	if err := g.Edit(func(e *nn.Edit) {
		e.Seed(1)
		h := e.Apply(nn.Sequential{layers.Linear{Out: 16}, layers.Tanh{}}, e.Input("x", "float32[N,2]"))
		e.Output("class", e.Apply(layers.Linear{Out: 2}, h))
		e.Output("price", e.Apply(layers.Linear{Out: 1}, h))
	}); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save(in("two.onnx"), g); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for i := range 200 {
		x, y := float64(i%20)/10-1, float64(i/20)/5-1
		class := 0
		if x*x+y > 0.3 {
			class = 1
		}
		fmt.Fprintf(&lines, `{"x":[%v,%v],"class":%d,"price":%v}`+"\n", x, y, class, 250000.5+90000*x)
	}
	if err := os.WriteFile(in("a.jsonl"), []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := command("train", in("two.onnx"), "--data", in("a.jsonl"), "--epochs", "40", "-o", in("out.onnx"))
	if err != nil || !strings.Contains(out, "output price: the target's mean 2.455e+05 and deviation ") {
		t.Fatal(out, err)
	}
	if r2, right := lastFigure(out, "price/r2"), lastFigure(out, "class/accuracy"); !(r2 > 0.9 && right > 0.85) {
		t.Errorf("r² %v, accuracy %v", r2, right)
	}
	if out, err = command("train", in("out.onnx"), "--data", in("a.jsonl"), "--epochs", "1", "-o", in("again.onnx")); err != nil || strings.Contains(out, "become part of the model") {
		t.Error(out, err)
	}
}
