package onnxio

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
)

// TestTypedDataKept: elements in the field for their type are written to it again, also large ones, which are written without a copy.
func TestTypedDataKept(t *testing.T) {
	const n = skimFrom
	floats, doubles, ints := make([]float32, 2*n), make([]float64, 2*n), make([]int64, n)
	for i := range floats {
		floats[i], doubles[i], ints[i/2] = float32(i)-7, float64(-i), int64(i)
	}
	tensor := func(name string, dt dtype.DType, p *onnxpb.TensorProto) *onnxpb.TensorProto {
		p.Name, p.DataType, p.Dims = proto.String(name), proto.Int32(int32(dt)), []int64{n}
		return p
	}
	list := []*onnxpb.TensorProto{
		tensor("f", dtype.Float32, &onnxpb.TensorProto{FloatData: floats[:n]}), tensor("c", dtype.Complex64, &onnxpb.TensorProto{FloatData: floats}),
		tensor("d", dtype.Float64, &onnxpb.TensorProto{DoubleData: doubles[:n]}), tensor("z", dtype.Complex128, &onnxpb.TensorProto{DoubleData: doubles}),
		tensor("i", dtype.Int64, &onnxpb.TensorProto{Int64Data: ints}), tensor("r", dtype.Float32, &onnxpb.TensorProto{RawData: make([]byte, 4*n)}),
	}
	b, err := proto.Marshal(&onnxpb.ModelProto{IrVersion: proto.Int64(8), OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}},
		Graph: &onnxpb.GraphProto{Name: proto.String("g"), Initializer: list}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "m.onnx")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, load := range map[string]struct {
		Loader
		path string
	}{"path": {Loader{}, path}, "file system": {Loader{FS: os.DirFS(dir)}, "m.onnx"}} {
		g, err := load.Load(load.path)
		if err != nil {
			t.Fatal(err)
		}
		var parts writes
		if err := Write(&parts, g); err != nil {
			t.Fatal(err)
		}
		if err := sameModel(b, slices.Concat(parts...)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, size := range []int{4 * n, 8 * n, 16 * n} {
			if !slices.ContainsFunc(parts, func(p []byte) bool { return len(p) == size }) {
				t.Errorf("%s: nothing of %d bytes is written at once", name, size)
			}
		}
	}
}
