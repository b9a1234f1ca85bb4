package cli

import (
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
)

// A row for each layer; the figures after each round; the flags of train.
func TestPruneTable(t *testing.T) {
	dir := t.TempDir()
	cnn(t, dir)
	rare(t, filepath.Join(dir, "rare.csv"))
	classifier(t, filepath.Join(dir, "two.onnx"), 3, 2)
	expect(t, dir, [][3]string{
		{"prune cnn.onnx --target macs=0.5 --round-to 4 --dry-run", "layer  op    gives                parameters   multiply-adds", ""},
		{"prune cnn.onnx --target macs=0.5 --round-to 4 --dry-run", "b      Conv  N×16×4×4 → N×8×4×4   2 320 → 872  36 864 → 13 824", ""},
		{"prune cnn.onnx --target macs=0.5 --round-to 4 --dry-run", "total: parameters 3 251 → ", ""},
		{"prune cnn.onnx --target macs=0.5 --dry-run --details", "axis 0 of ", ""},
		{"prune two.onnx --target macs=0.5 --data rare.csv --preset none -o s.onnx", "", "--preset is for images"},
		{"prune two.onnx --target macs=0.5 --data rare.csv --iterations 2 --finetune-epochs 1 --optimizer sgd --lr 0.1 --class-weights auto -o s.onnx", "validation loss", ""},
		{"prune cnn.onnx --optimizer fast --dry-run", "", "--optimizer fast: want one of adadelta"},
		{"prune cnn.onnx --lr -1 --dry-run", "", "--lr -1: want 0 or more"},
		{"prune cnn.onnx --iterations 0 --dry-run", "", "--iterations 0: want 1 or more"},
		{"prune cnn.onnx --finetune-epochs -2 --dry-run", "", "--finetune-epochs -2: want 0 or more"},
	})
}

// TestSizesOf checks that commas within a function of symbols stay.
func TestSizesOf(t *testing.T) {
	for typ, want := range map[string]string{
		"float32[N,32,28,28]": "N×32×28×28", "float32": "", "float32[N,floor(T-1,2)+1,4]": "N×floor(T-1,2)+1×4", "float32[max(floor(a,2),b),3]": "max(floor(a,2),b)×3",
	} {
		if got := sizesOf(typ); got != want {
			t.Errorf("%s: %q, want %q", typ, got, want)
		}
	}
}

// TestPruneBodies checks that prune says how many parameters are in the body of a loop, which stay.
func TestPruneBodies(t *testing.T) {
	dir := t.TempDir()
	g := nn.New("loop")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Apply(nn.Sequential{layers.Linear{Out: 16}, layers.ReLU{}, layers.Linear{Out: 4}}, e.Input("x", "float32[N,8]"))
		w := e.Param("inside", initial.Full{Value: 0.5}, 4, 4)
		body := e.Body("body", []string{"int64[]", "bool[]", "float32[N,4]"}, []*nn.Value{w}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			return []*nn.Value{in[1], e.Node(op.Plain("MatMul"), in[2], in[3]).Out(0)}
		})
		e.Output("y", e.Node(std.LoopConfig{Body: body}, e.Ints("times", 2), nil, x).Out(0))
	})
	if err == nil {
		err = onnxio.Save(filepath.Join(dir, "loop.onnx"), g)
	}
	if err != nil {
		t.Fatal(err)
	}
	expect(t, dir, [][3]string{
		{"prune loop.onnx --target params=0.7 --dry-run", "\n16 parameters in the bodies of If, Loop and Scan are not pruned\ntotal: ", ""},
	})
}
