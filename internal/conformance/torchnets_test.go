package conformance_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/prune"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// torchNets exports the networks of testdata/torchnets.py, once for each state of the script.
func torchNets(t *testing.T) []string {
	script := filepath.Join("testdata", "torchnets.py")
	b, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "graft", fmt.Sprintf("torchnets-%x", sha256.Sum256(b))[:20])
	done := filepath.Join(dir, "done")
	if _, err := os.Stat(done); err != nil {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		oracle.Torch(t, script, dir)
		if err := os.WriteFile(done, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.onnx"))
	if err != nil || len(files) == 0 {
		t.Fatal("no networks: ", err)
	}
	return files
}

// uncut are networks of which nothing can go: bags are sums in a loop whose turns have no known length.
var uncut = map[string]bool{"bag": true}

// TestTorchNets: networks that PyTorch exports give its outputs and its gradients, run in ONNX
// Runtime after saving at two sizes of batch, and still do so with half of their multiply-adds.
func TestTorchNets(t *testing.T) {
	if testing.Short() {
		t.Skip("exporting takes half a minute")
	}
	ort := oracle.ORT(t)
	for _, file := range torchNets(t) {
		net := strings.TrimSuffix(filepath.Base(file), ".onnx")
		t.Run(net, func(t *testing.T) {
			g, err := onnxio.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := oracle.NPZ(strings.TrimSuffix(file, ".onnx") + ".npz")
			if err != nil {
				t.Fatal(err)
			}
			x := unpackValue(t, want["x"])
			got, err := g.Eval(t.Context(), nn.Feed{"x": x})
			if err != nil {
				t.Fatal(err)
			}
			if err := oracle.Close(packValue(got["y"]), want["y"], 1e-4, 1e-5); err != nil {
				t.Errorf("y: %v", err)
			}
			sameGradients(t, g, x, want)
			for _, batch := range []int{1, 3} {
				sameInRuntime(t, ort, g, repeated(t, x, batch), fmt.Sprint("batch of ", batch))
			}
			small := nntest.Clone(t, g)
			plan, err := prune.Pruner{Target: prune.Target{MACs: 0.5}, NormalizedAxes: true}.Plan(t.Context(), small)
			if err != nil && uncut[net] {
				t.Log("prune: ", err)
				return
			}
			if err != nil {
				t.Fatalf("prune: %v", err)
			}
			if err := plan.Apply(); err != nil {
				t.Fatalf("prune: %v", err)
			}
			if uncut[net] {
				t.Error("is pruned")
			}
			t.Logf("pruned: %d to %d multiply-adds", g.Summary().Total.MACs, small.Summary().Total.MACs)
			sameInRuntime(t, ort, small, x, "pruned")
		})
	}
}

// sameGradients compares the gradients of the loss with PyTorch's, relative to their norms. Norms
// below a millionth of the largest are rounding.
func sameGradients(t *testing.T, g *nn.Graph, x dtype.Value, want map[string]oracle.Tensor) {
	t.Helper()
	var names []string
	scale := 0.0
	for k, w := range want {
		if name, ok := strings.CutPrefix(k, "grad."); ok {
			names = append(names, name)
			f, err := w.Float64s()
			if err != nil {
				t.Fatal(err)
			}
			scale = max(scale, norm(f))
		}
	}
	slices.Sort(names)
	grads, err := g.Grad(t.Context(), nn.Feed{"x": x}, "loss", names...)
	if err != nil {
		t.Errorf("gradients: %v", err)
		return
	}
	for _, name := range names {
		a, err := dtype.Float64s(dense(t, grads[name]))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := want["grad."+name].Float64s()
		if len(a) != len(b) {
			t.Errorf("gradient of %s: %d elements, want %d", name, len(a), len(b))
			continue
		}
		d := make([]float64, len(a))
		for i := range a {
			d[i] = a[i] - b[i]
		}
		if e := norm(d); !(e <= 1e-4*norm(b)+1e-6*scale) {
			t.Errorf("gradient of %s is off by %.3g of %.3g", name, e, norm(b))
		}
	}
}

func norm(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x * x
	}
	return math.Sqrt(s)
}

func unpackValue(t *testing.T, x oracle.Tensor) *tensor.Dense {
	t.Helper()
	dt, err := dtype.Parse(x.DType)
	if err != nil {
		t.Fatal(err)
	}
	d := dtype.New(dt, x.Shape...)
	copy(dtype.Bytes(d), x.Data)
	return d
}

// repeated returns a batch of n of the elements of x.
func repeated(t *testing.T, x *tensor.Dense, n int) *tensor.Dense {
	t.Helper()
	shape := append([]int{}, x.Shape()...)
	each := len(dtype.Bytes(x)) / shape[0]
	shape[0] = n
	d := dtype.New(dtype.Of(x.Dtype()), shape...)
	for i := range n {
		copy(dtype.Bytes(d)[i*each:], dtype.Bytes(x)[i%x.Shape()[0]*each:][:each])
	}
	return d
}

// sameInRuntime saves the graph and compares ONNX Runtime's outputs with ours.
func sameInRuntime(t *testing.T, ort *oracle.Runtime, g *nn.Graph, x *tensor.Dense, what string) {
	t.Helper()
	var file bytes.Buffer
	if err := onnxio.Write(&file, g); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	want, err := ort.Run(file.Bytes(), map[string]oracle.Tensor{"x": packValue(x)})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	got, err := g.Eval(t.Context(), nn.Feed{"x": x})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	for name, v := range got {
		if err := oracle.Close(packValue(v), want[name], 1e-3, 1e-4); err != nil {
			t.Errorf("%s: %s: %v", what, name, err)
		}
	}
}
