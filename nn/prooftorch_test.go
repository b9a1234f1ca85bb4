package nn_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
)

// torchModels are torchvision's architectures as testdata/torchmodels.py exports them, kept in the
// user's cache between runs.
func torchModels(t *testing.T) []string {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	dir := filepath.Join(cache, "graft", "torchmodels")
	if files, _ := filepath.Glob(filepath.Join(dir, "*.onnx")); len(files) == 0 {
		if testing.Short() {
			t.Skip("exporting takes a minute")
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		oracle.Torch(t, filepath.Join("testdata", "torchmodels.py"), dir)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.onnx"))
	return files
}

// TestCutTorch cuts a third of every group of torchvision's networks, proves it and runs what comes
// out in ONNX Runtime.
func TestCutTorch(t *testing.T) {
	ort := oracle.ORT(t)
	for _, file := range torchModels(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".onnx"), func(t *testing.T) {
			g, err := onnxio.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(7, 8))
			var cuts []nn.Cut
			p := prove(t, g, 2, 9, func(e *nn.Edit) {
				var atoms []*nn.Atom
				for _, x := range e.Channels().Groups() {
					if n := len(x.Atoms); n > 1 && !x.Normalized {
						for _, k := range r.Perm(n)[:max(1, n/3)] {
							atoms = append(atoms, x.Atoms[k])
						}
					}
				}
				e.RemoveAtoms(atoms...)
			})
			cuts = p.Cuts()
			before, after := p.Cost()
			t.Logf("%d axes cut; parameters %d → %d, multiply-adds %d → %d", len(cuts), before.Params, after.Params, before.MACs, after.MACs)
			small := nntest.Clone(t, g)
			if err := small.Edit(func(e *nn.Edit) { e.Cut(cuts...) }); err != nil {
				t.Fatal(err)
			}
			for _, batch := range []int{1, 3} {
				sameInORT(t, ort, small, batch, 9)
			}
		})
	}
}

// sameInORT saves a model, runs it in ONNX Runtime and compares with our own run.
func sameInORT(t *testing.T, ort *oracle.Runtime, g *nn.Graph, batch, open int) {
	t.Helper()
	in, err := draw(g, batch, open, rand.New(rand.NewPCG(9, 9)))
	if err != nil {
		t.Fatal(err)
	}
	want, err := g.Run(context.Background(), in...)
	if err != nil {
		t.Fatalf("batch of %d: %v", batch, err)
	}
	var file bytes.Buffer
	if err := onnxio.Write(&file, g); err != nil {
		t.Fatal(err)
	}
	feed := map[string]oracle.Tensor{}
	for i, v := range g.Inputs() {
		feed[v.Name()] = oracle.Tensor{DType: v.Type().DType.String(), Shape: []int(in[i].Shape()), Data: dtype.Bytes(in[i])}
	}
	got, err := ort.Run(file.Bytes(), feed)
	if err != nil {
		t.Fatalf("ONNX Runtime, batch of %d: %v", batch, err)
	}
	for i, v := range g.Outputs() {
		mine := oracle.Tensor{DType: v.Type().DType.String(), Shape: []int(want[i].Shape()), Data: dtype.Bytes(want[i])}
		if err := oracle.Close(got[v.Name()], mine, 1e-3, 1e-4); err != nil {
			t.Errorf("ONNX Runtime, batch of %d, %s: %v", batch, v.Name(), err)
		}
	}
}

// TestCutModelsInORT halves the channels of the shared models, axes under a normalization included,
// and runs the files in ONNX Runtime.
func TestCutModelsInORT(t *testing.T) {
	ort := oracle.ORT(t)
	files, _ := filepath.Glob(filepath.Join(oracle.Shared(t, "models"), "*", "model.onnx"))
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			g, err := onnxio.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			if err := g.Edit(func(e *nn.Edit) {
				var atoms []*nn.Atom
				for _, x := range e.Channels().Groups() {
					atoms = append(atoms, x.Atoms[:len(x.Atoms)/2]...)
				}
				n = len(atoms)
				e.RemoveAtoms(atoms...)
			}); err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				t.Skip("nothing to cut")
			}
			for _, batch := range []int{1, 3} {
				sameInORT(t, ort, g, batch, max(openSizes[name], 5))
			}
		})
	}
}
