package onnxio

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/graft-ml/graft/internal/onnxpb"
	"google.golang.org/protobuf/proto"
)

// TestStripMemory: a tensor of 16 MB is not held twice, in whatever field its elements are, in models and in values;
// nor three times while it is filled again.
func TestStripMemory(t *testing.T) {
	const n = 1 << 22
	floats, doubles := make([]float32, n), make([]float64, n/2)
	for i := range floats {
		floats[i], doubles[i/2] = float32(i%5), float64(i/2%5)
	}
	raw := make([]byte, 4*n)
	for name, w := range map[string]*onnxpb.TensorProto{
		"raw_data":    {Name: proto.String("w"), DataType: proto.Int32(1), Dims: []int64{n}, RawData: raw},
		"float_data":  {Name: proto.String("w"), DataType: proto.Int32(1), Dims: []int64{n}, FloatData: floats},
		"double_data": {Name: proto.String("w"), DataType: proto.Int32(11), Dims: []int64{n / 2}, DoubleData: doubles},
	} {
		m := &onnxpb.ModelProto{IrVersion: proto.Int64(8), Graph: &onnxpb.GraphProto{Name: proto.String("g"), Initializer: []*onnxpb.TensorProto{w}},
			OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}}}
		for file, x := range map[string]proto.Message{"model.onnx": m, "input_0.pb": w} {
			path := filepath.Join(t.TempDir(), file)
			b, err := proto.Marshal(x)
			if err == nil {
				err = os.WriteFile(path, b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			b = nil
			if used := peak(t, func() (int, error) { return Stripper{}.Strip(path, "") }); used > 8*n {
				t.Errorf("%s, %s: %d bytes are held while %d are stripped", file, name, used, 4*n)
			}
			b, err = os.ReadFile(path)
			if err != nil || len(b) > 1000 {
				t.Errorf("%s, %s: %d bytes are left, %v", file, name, len(b), err)
			}
			if file != "model.onnx" {
				continue
			}
			if used := peak(t, func() (int, error) { return Unstripper{}.Unstrip(path, "") }); used > 12*n {
				t.Errorf("%s, %s: %d bytes are held while %d are filled", file, name, used, 4*n)
			}
		}
	}
}

// peak is by how many bytes the heap is larger while f rewrites one tensor.
func peak(t *testing.T, f func() (int, error)) uint64 {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	first := heap()
	most, done, stopped := first, make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			default:
				most = max(most, heap())
				runtime.Gosched()
			}
		}
	}()
	tensors, err := f()
	close(done)
	<-stopped
	if err != nil || tensors != 1 {
		t.Fatalf("%d tensors, %v", tensors, err)
	}
	return most - first
}

// TestStripKeepsFields: a tensor that stays as it is keeps the field that its elements are in.
func TestStripKeepsFields(t *testing.T) {
	list := make([]float32, 2000)
	for i := range list {
		list[i] = float32(i)
	}
	w := &onnxpb.TensorProto{Name: proto.String("w"), DataType: proto.Int32(1), Dims: []int64{2000}, FloatData: list}
	m := &onnxpb.ModelProto{IrVersion: proto.Int64(8), Graph: &onnxpb.GraphProto{Name: proto.String("g"), Initializer: []*onnxpb.TensorProto{w}},
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}}}
	path := filepath.Join(t.TempDir(), "model.onnx")
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err == nil {
		err = os.WriteFile(path, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, err := (Stripper{Over: 5000}).Strip(path, ""); n != 0 || err != nil {
		t.Errorf("%d tensors, %v", n, err)
	}
	again := &onnxpb.ModelProto{}
	if b, err = os.ReadFile(path); err == nil {
		err = proto.Unmarshal(b, again)
	}
	if err != nil || !proto.Equal(m, again) {
		t.Errorf("the model has changed, %v", err)
	}
}
