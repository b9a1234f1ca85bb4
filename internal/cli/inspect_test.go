package cli

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
)

// shapedModel writes a model whose Reshape target is computed from the input's shape.
func shapedModel(t *testing.T, path string) {
	t.Helper()
	g := nn.New("shaped")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,S,4]")
		shape := e.Node(op.Plain("Shape"), x).Out(0)
		e.Output("scores", e.Apply(layers.Linear{Out: 3, Name: "top"}, e.Node(op.Plain("Reshape"), e.Node(op.Plain("Relu"), x).Out(0), shape).Out(0)))
	}); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save(path, g); err != nil {
		t.Fatal(err)
	}
}

// The table leaves out what is known before anything runs; costs grow with symbols; weights have figures; JSON has it all.
func TestInspect(t *testing.T) {
	dir := t.TempDir()
	shapedModel(t, filepath.Join(dir, "m.onnx"))
	cnn(t, dir)
	long := nn.New("long")
	if err := long.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(layers.Conv{Out: 2, Kernel: []int{5}}, e.Input("x", "float32[N,3,L]")))
	}); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save(filepath.Join(dir, "long.onnx"), long); err != nil {
		t.Fatal(err)
	}
	expect(t, dir, [][3]string{
		{"inspect long.onnx", "not counted  the multiply-adds of 1 node whose sizes are unknown with symbols at 1 (--type sets sizes), or in branches or loops", ""},
		{"inspect long.onnx --json", `"uncounted":1`, ""},
		{"inspect m.onnx", "1 nodes of constants and shapes are not shown; --all shows them", ""},
		{"inspect m.onnx --all", "int64[3]", ""},
		{"inspect m.onnx", "by S         12·S multiply-adds", ""},
		{"inspect cnn.onnx --brief", "by N         39 936·N multiply-adds", ""},
		{"inspect cnn.onnx --brief", "memory       13.0 kB stored; values of a run 2.0 kB at a time, 4.1 kB in all", ""},
		{"inspect cnn.onnx --weights", "parameter", ""},
		{"inspect cnn.onnx --svg -", "<svg xmlns=", ""},
		{"inspect cnn.onnx --svg cnn.svg", "", ""},
		{"inspect none.onnx", "", "no such file or folder: "},
		{"inspect cnn.onnx cnn.onnx", "", "want one MODEL, got 2 arguments"},
		{"inspect cnn.onnx --al", "", "unknown flag: --al; did you mean --all?"},
		{"inspect cnn.onnx --type y", "", "y"},
	})
	out, err := in(dir, "inspect cnn.onnx --json --weights")
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Details []struct {
			Node       string
			Inputs     []string
			Attributes map[string]any
		}
		Parameters []struct{ Name, Role string }
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Details) < 6 || r.Details[0].Node != "a" || len(r.Details[0].Inputs) != 3 || r.Details[0].Attributes["pads"] == nil || len(r.Parameters) != 6 {
		t.Errorf("%s, %v", out, err)
	}
}

func TestWeightFigures(t *testing.T) {
	d, err := dtype.FromSlice([]float32{1, -1, 0, float32(math.NaN()), 4, float32(math.Inf(1))}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	f := weightFigures{Elements: 6}
	if err := f.measure(d); err != nil {
		t.Fatal(err)
	}
	if want := (weightFigures{Elements: 6, Least: -1, Most: 4, Mean: 1, Deviation: math.Sqrt(3.5), Zeros: 0.25, Broken: 2}); f != want {
		t.Errorf("%+v, want %+v", f, want)
	}
	if s := weightText([]weightFigures{f}); !strings.Contains(s, "2 are not finite") {
		t.Error(s)
	}
}

// TestPolynomial checks polynomials through three values at steps of one, two and three.
func TestPolynomial(t *testing.T) {
	for _, c := range []struct {
		f    func(n int64) int64
		want string
	}{
		{func(n int64) int64 { return 1200 * n }, "1 200·S"},
		{func(n int64) int64 { return 7 + 3*n + 2*n*n }, "7 + 3·S + 2·S²"},
		{func(int64) int64 { return 5 }, "5"},
		{func(n int64) int64 { return n / 3 }, ""},
	} {
		x, y, z := c.f(16), c.f(32), c.f(48)
		if got := polynomial("S", x, y, z, 16); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if c.want != "" && evaluated(x, y, z, 16, 80) != c.f(80) {
			t.Errorf("%s at 80 is %d, want %d", c.want, evaluated(x, y, z, 16, 80), c.f(80))
		}
	}
}
