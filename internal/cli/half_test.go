package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
)

// A model in half precision is trained in float32.
func TestHalfPrecision(t *testing.T) {
	dir := t.TempDir()
	g := nn.New("half")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float16[N,2]")
		w := e.ParamOf("w", dtype.Float16, initial.Values{Data: []float64{1, -1, 0.5, 2}}, 2, 2)
		e.Output("y", e.Node(op.Plain("MatMul"), x, w).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save(filepath.Join(dir, "half.onnx"), g); err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	rows.WriteString("a,b,kind\n")
	for i := range 60 {
		rows.WriteString([]string{"0.1,0.9,one\n", "0.8,0.2,two\n"}[i%2])
	}
	if err := os.WriteFile(filepath.Join(dir, "d.csv"), []byte(rows.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := in(dir, "train half.onnx --data d.csv --epochs 2 -o trained.onnx")
	if err != nil || !strings.Contains(out, "the model computes in float16: it is trained, and written, in float32; --store float16 stores") {
		t.Fatal(out, err)
	}
	trained, err := onnxio.Load(filepath.Join(dir, "trained.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	for p := range trained.Params() {
		if d := p.Value().Type().DType; p.Trainable() && d != dtype.Float32 {
			t.Errorf("%s is %v", p.Name(), d)
		}
	}
	if _, err := in(dir, "edit half.onnx --compute float64 -o wide.onnx"); err != nil {
		t.Fatal(err)
	}
	wide, err := onnxio.Load(filepath.Join(dir, "wide.onnx"))
	if err != nil || wide.Inputs()[0].Type().DType != dtype.Float64 {
		t.Error(wide, err)
	}
}
