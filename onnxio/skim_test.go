package onnxio

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/onnxpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// skimCase returns a model with initializers small and large.
func skimCase() *onnxpb.ModelProto {
	tensor := func(name string, dt int32, n int, raw []byte) *onnxpb.TensorProto {
		return &onnxpb.TensorProto{Name: proto.String(name), DataType: proto.Int32(dt), Dims: []int64{int64(n)}, RawData: raw}
	}
	ramp := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i * 7)
		}
		return b
	}
	return &onnxpb.ModelProto{
		IrVersion:   proto.Int64(8),
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}},
		Graph: &onnxpb.GraphProto{
			Name: proto.String("g"),
			Initializer: []*onnxpb.TensorProto{
				tensor("small", 1, 2, ramp(8)), tensor("large", 1, 3000, ramp(12000)), tensor("huge", 7, 20000, ramp(160000)),
				tensor("nibbles", 22, 20000, ramp(10000)), tensor("typed", 1, 2, nil),
			},
		},
	}
}

// TestSkim reads models with and without skimming.
func TestSkim(t *testing.T) {
	m := skimCase()
	m.Graph.Initializer[4].FloatData = []float32{1, 2}
	whole, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.onnx")
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := disk.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, raw, err := skimModel(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) != 3 {
		t.Errorf("%d sections, want 3", len(raw))
	}
	r := newReader(Loader{}.Ops, got, nil)
	r.raw = raw
	for i, x := range got.Graph.Initializer {
		v, err := r.tensor(x)
		if err != nil {
			t.Fatal(err)
		}
		want, err := decodeTensor(m.Graph.Initializer[i], nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := encodeTensor("", v)
		if err != nil {
			t.Fatal(err)
		}
		b, err := encodeTensor("", want)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.RawData, b.RawData) || (x.RawData == nil) != (m.Graph.Initializer[i].RawData == nil) {
			t.Errorf("%s differs", x.GetName())
		}
		x.RawData = m.Graph.Initializer[i].RawData
	}
	if !proto.Equal(got, m) {
		t.Error("the rest of the model differs")
	}
	g, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Write(&out, g); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), whole) {
		t.Error("what was loaded is not written as it was")
	}
}

// TestSkimRefuses: what is unusual or broken is left to the decoder of whole files.
func TestSkimRefuses(t *testing.T) {
	whole, err := proto.Marshal(skimCase())
	if err != nil {
		t.Fatal(err)
	}
	twice := protowire.AppendBytes(protowire.AppendTag(nil, tensorRawData, protowire.BytesType), make([]byte, 8000))
	twice = append(twice, twice...)
	inGraph := protowire.AppendBytes(protowire.AppendTag(nil, graphInitializer, protowire.BytesType), twice)
	inModel := protowire.AppendBytes(protowire.AppendTag(nil, modelGraph, protowire.BytesType), inGraph)
	for name, b := range map[string][]byte{
		"cut":              whole[:len(whole)-5],
		"cut in raw data":  whole[:9000],
		"group":            append([]byte{0x0b, 0x0c}, whole...),
		"length of 2^63":   append([]byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, whole...),
		"two raw data":     inModel,
		"nothing at all":   {0x3a},
		"data over length": append([]byte{0x3a, 0x02, 0x2a, 0x7f}, whole...),
	} {
		path := filepath.Join(t.TempDir(), "m.onnx")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := disk.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := skimModel(f); err == nil {
			t.Errorf("%s: skimmed", name)
		}
		f.Close()
	}
}
