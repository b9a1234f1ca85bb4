package docs_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// compare runs every model that a page left in ONNX Runtime, on random inputs: the answers must be those of graft.
func compare(t *testing.T, dir string) {
	var models []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".onnx" && !strings.Contains(path, ".run") {
			models = append(models, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(models) == 0 {
		return
	}
	t.Run("ONNX Runtime", func(t *testing.T) {
		ort := oracle.ORT(t)
		for _, model := range models {
			t.Run(filepath.Base(model), func(t *testing.T) { compareModel(t, ort, model) })
		}
	})
}

func compareModel(t *testing.T, ort *oracle.Runtime, model string) {
	g, err := onnxio.Load(model)
	if err != nil {
		t.Fatal(err)
	}
	dims := map[string]int{}
	for symbol := range conformance.Symbols(g) {
		dims[symbol] = map[string]int{"height": 32, "width": 32}[symbol]
		dims[symbol] = max(dims[symbol], 2)
	}
	feed, err := conformance.RandomInputs(g, dims, 1)
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]oracle.Tensor{}
	for name, v := range feed {
		if in[name], err = packed(v); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for _, v := range g.Outputs() {
		names = append(names, v.Name())
	}
	got, err := g.Eval(context.Background(), feed, names...)
	if err != nil {
		t.Fatal(err)
	}
	want, err := ort.RunFile(model, in)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		x, err := packed(got[name])
		if err == nil {
			err = oracle.Close(x, want[name], 1e-3, 1e-4)
		}
		if err != nil {
			t.Errorf("output %s: %v", name, err)
		}
	}
}

func packed(v any) (oracle.Tensor, error) {
	d, ok := v.(*tensor.Dense)
	if !ok {
		return oracle.Tensor{}, nil
	}
	return oracle.Tensor{DType: dtype.Of(d.Dtype()).String(), Shape: append([]int{}, d.Shape()...), Data: dtype.Bytes(d)}, nil
}
