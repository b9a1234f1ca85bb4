package conformance_test

import (
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// TestFreedBatch frees the batch that a file fixes: three copies of the input give three copies
// of the output, and the saved model says the symbol.
func TestFreedBatch(t *testing.T) {
	for _, name := range []string{
		"acasxu-1-1", "cifar-wide", "mnist-bn-cnn", "mnist-cnn", "squeezenet1.1", "ultraface-slim-320", "yunet-n-320", "dtln-1",
	} {
		t.Run(name, func(t *testing.T) {
			_, one := load(t, name)
			g, err := onnxio.Loader{BatchDim: "N"}.Load(filepath.Join(oracle.Shared(t, "models", name), "model.onnx"))
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
			want, err := g.Eval(t.Context(), one)
			if err != nil {
				t.Fatal(err)
			}
			three := nn.Feed{}
			for name, v := range one {
				three[name] = repeat(t, dense(t, v), 3)
			}
			got, err := g.Eval(t.Context(), three)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range g.Outputs() {
				near(t, v.Name(), got[v.Name()], repeat(t, dense(t, want[v.Name()]), 3), 1e-5)
				if s := v.Type().Shape; s[0].Sym != "N" {
					t.Errorf("output %s is %v", v.Name(), v.Type())
				}
			}
			out := filepath.Join(t.TempDir(), "free.onnx")
			if err := onnxio.Save(out, g); err != nil {
				t.Fatal(err)
			}
			again, err := onnxio.Load(out)
			if err != nil {
				t.Fatal(err)
			}
			if s := again.Inputs()[0].Type().Shape[0].Sym; s != "N" {
				t.Errorf("the saved batch is %q", s)
			}
		})
	}
}

// repeat puts n copies of d after one another along axis 0.
func repeat(t *testing.T, d *tensor.Dense, n int) *tensor.Dense {
	t.Helper()
	shape := append([]int(nil), d.Shape()...)
	shape[0] *= n
	r := dtype.New(dtype.Of(d.Dtype()), shape...)
	for i := range n {
		copy(dtype.Bytes(r)[i*len(dtype.Bytes(d)):], dtype.Bytes(d))
	}
	return r
}

// TestSileroBatch runs the model with If, LSTM and state at a batch of three, as ONNX Runtime does.
func TestSileroBatch(t *testing.T) {
	g, feed := load(t, "silero-vad-16k")
	rt := oracle.ORT(t)
	x := dense(t, feed["input"])
	feed["input"] = repeat(t, x, 3)
	feed["state"] = dtype.New(dtype.Float32, 2, 3, 128)
	in := map[string]oracle.Tensor{}
	for name, v := range feed {
		d := dense(t, v)
		in[name] = oracle.Tensor{DType: dtype.Of(d.Dtype()).String(), Shape: d.Shape(), Data: dtype.Bytes(d)}
	}
	want, err := rt.RunFile(filepath.Join(oracle.Shared(t, "models", "silero-vad-16k"), "model.onnx"), in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := g.Eval(t.Context(), feed)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range g.Outputs() {
		w, err := want[v.Name()].Float64s()
		if err != nil {
			t.Fatal(err)
		}
		d, err := dtype.FromSlice(w, len(w))
		if err != nil {
			t.Fatal(err)
		}
		near(t, v.Name(), got[v.Name()], d, 1e-5)
	}
}
