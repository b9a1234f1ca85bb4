package main

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train/data"
)

// TestRun goes through the whole program on fewer images: of MNIST where it is available, rendered
// digits elsewhere.
func TestRun(t *testing.T) {
	p := program{width: 32, images: 1600, epochs: 3, dir: t.TempDir(), w: t.Output()}
	all, err := digits()
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.run(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	if r.macs < 0.4 || r.macs > 0.55 {
		t.Errorf("%.3f of the multiply-adds stay, want about half", r.macs)
	}
	if r.before < 0.93 || r.pruned < r.before-0.01 {
		t.Errorf("accuracy %.4f, pruned %.4f: want at least 0.93 and a loss of less than 0.01", r.before, r.pruned)
	}
	if r.changed > 1e-5 {
		t.Errorf("widening changed the outputs by %g", r.changed)
	}
	if r.widened < r.before-0.01 {
		t.Errorf("accuracy %.4f after training on, %.4f before", r.widened, r.before)
	}
	for _, name := range []string{"whole", "pruned", "widened"} {
		t.Run(name, func(t *testing.T) { inRuntime(t, filepath.Join(p.dir, name+".onnx")) })
	}
}

func digits() (data.Dataset[data.Sample], error) {
	shared := os.Getenv("GRAFT_SHARED")
	if shared == "" {
		return glyphs(3000)
	}
	dir := filepath.Join(shared, "data", "mnist")
	return data.IDX(filepath.Join(dir, "t10k-images-idx3-ubyte.gz"), filepath.Join(dir, "t10k-labels-idx1-ubyte.gz"))
}

// inRuntime runs a saved model in ONNX Runtime at two batch sizes and compares.
func inRuntime(t *testing.T, file string) {
	ort := oracle.ORT(t)
	g, err := onnxio.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 5} {
		x := dtype.New(dtype.Float32, n, 1, 28, 28)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range dtype.Slice[float32](x) {
			dtype.Slice[float32](x)[i] = r.Float32()
		}
		want, err := g.Run(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ort.Run(b, map[string]oracle.Tensor{"image": {DType: "float32", Shape: []int(x.Shape()), Data: dtype.Bytes(x)}})
		if err != nil {
			t.Fatal(err)
		}
		mine := oracle.Tensor{DType: "float32", Shape: []int(want[0].Shape()), Data: dtype.Bytes(want[0])}
		if err := oracle.Close(got["scores"], mine, 1e-3, 1e-3); err != nil {
			t.Errorf("batch of %d: %v", n, err)
		}
	}
}
