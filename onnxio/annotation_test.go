package onnxio_test

import (
	"bytes"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
)

var marks = nn.Annotations{"prune": "no", "stage": int64(4), "scale": float32(0.5), "sizes": []int64{1, 2}, "floats": []float32{1, 0.25}, "names": []string{"a", "b"}}

func marked(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("marked")
	err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 3, Name: "fc"}, layers.ReLU{}}, e.Input("x", "float32[N,4]")))
		e.Annotate(marks, nn.Ops("Relu"))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func annotationsOf(t *testing.T, g *nn.Graph) nn.Annotations {
	t.Helper()
	for n := range g.Nodes(nn.Ops("Relu")) {
		return n.Annotations()
	}
	t.Fatal("no Relu")
	return nil
}

// TestAnnotationsInFiles checks that annotations round-trip in both places that a file has for them,
// in order, and are removed from it.
func TestAnnotationsInFiles(t *testing.T) {
	g := marked(t)
	for _, mode := range []onnxio.AnnotationMode{onnxio.AsAttributes, onnxio.AsStored, onnxio.AsMetadata, onnxio.AsStored, onnxio.AsAttributes} {
		var b bytes.Buffer
		if err := (onnxio.Saver{Annotations: mode}).Write(&b, g); err != nil {
			t.Fatal(err)
		}
		again, err := onnxio.Read(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if got := annotationsOf(t, again); !reflect.DeepEqual(got, marks) {
			t.Errorf("mode %d: %v, want %v", mode, got, marks)
		}
		if v := onnxio.HeaderOf(again).IRVersion; mode == onnxio.AsMetadata && v < 10 {
			t.Errorf("metadata of nodes in version %d of the format", v)
		}
		g = again
	}
	if err := g.Edit(func(e *nn.Edit) {
		e.RemoveAnnotations([]string{"prune", "sizes"})
		e.Annotate(nn.Annotations{"stage": 5}, nn.Ops("Relu"))
	}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := onnxio.Write(&b, g); err != nil {
		t.Fatal(err)
	}
	again, err := onnxio.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if got := annotationsOf(t, again); len(got) != 4 || got["stage"] != int64(5) || got["prune"] != nil {
		t.Errorf("after removing and setting: %v", got)
	}
}

// TestAnnotationsInRuntime checks that ONNX Runtime loads node metadata, and refuses unknown attributes.
func TestAnnotationsInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	for mode, loads := range map[onnxio.AnnotationMode]bool{onnxio.AsMetadata: true, onnxio.AsAttributes: false} {
		file := filepath.Join(t.TempDir(), "model.onnx")
		if err := (onnxio.Saver{Annotations: mode}).Save(file, marked(t)); err != nil {
			t.Fatal(err)
		}
		x := oracle.Tensor{DType: "float32", Shape: []int{1, 4}, Data: make([]byte, 16)}
		if _, err := ort.RunFile(file, map[string]oracle.Tensor{"x": x}); (err == nil) != loads {
			t.Errorf("mode %d: %v", mode, err)
		}
	}
}

// TestAnnotationsOfUpstream checks that annotations written by pytorch-pfn-extras are found by key and value.
func TestAnnotationsOfUpstream(t *testing.T) {
	g, err := onnxio.Load(oracle.Shared(t, "testcases-pfn", "annotate", "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for n := range g.Nodes(nn.Annotated("key")) {
		found++
		if a := n.Annotations(); a["n"] == nil || a["sl"] == nil || reflect.TypeOf(a["fl"]) != reflect.TypeFor[float32]() {
			t.Errorf("%s: %v", n.Label(), a)
		}
	}
	if found == 0 {
		t.Error("no node is annotated")
	}
	var b bytes.Buffer
	if err := onnxio.Write(&b, g); err != nil {
		t.Fatal(err)
	}
	again, err := onnxio.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Inputs()) != 1 || dtype.Float32 != again.Inputs()[0].Type().DType {
		t.Errorf("inputs %v", again.Inputs())
	}
}
