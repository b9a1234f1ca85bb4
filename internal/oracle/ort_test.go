package oracle_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/graft-ml/graft/internal/oracle"
)

// readPB reads a TensorProto that keeps its data in raw_data.
func readPB(t *testing.T, path string) (name string, x oracle.Tensor) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	x.Shape = []int{}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatalf("%s: %v", path, protowire.ParseError(n))
		}
		b = b[n:]
		size := protowire.ConsumeFieldValue(num, typ, b)
		if size < 0 {
			t.Fatalf("%s: %v", path, protowire.ParseError(size))
		}
		switch {
		case num == 1 && typ == protowire.VarintType:
			d, _ := protowire.ConsumeVarint(b)
			x.Shape = append(x.Shape, int(d))
		case num == 1 && typ == protowire.BytesType:
			packed, _ := protowire.ConsumeBytes(b)
			for len(packed) > 0 {
				d, n := protowire.ConsumeVarint(packed)
				x.Shape, packed = append(x.Shape, int(d)), packed[n:]
			}
		case num == 2:
			kind, _ := protowire.ConsumeVarint(b)
			x.DType = map[uint64]string{1: "float32", 7: "int64", 9: "bool", 11: "float64"}[kind]
		case num == 8:
			s, _ := protowire.ConsumeBytes(b)
			name = string(s)
		case num == 9:
			x.Data, _ = protowire.ConsumeBytes(b)
		}
		b = b[size:]
	}
	return name, x
}

// The expected outputs of these folders came from ONNX Runtime or PyTorch.
func TestORTAgreesWithSharedModels(t *testing.T) {
	dirs := []string{"torch-mlp", "torch-resnet-mini", "torch-lstm", "torch-unet", "iris-mlp", "acasxu-1-1"}
	root := oracle.Shared(t, "models")
	ort := oracle.ORT(t)
	for _, dir := range dirs {
		t.Run(dir, func(t *testing.T) {
			dir := filepath.Join(root, dir)
			var tolerance struct{ ATol, RTol float64 }
			meta, err := os.ReadFile(filepath.Join(dir, "data.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(meta, &tolerance); err != nil {
				t.Fatal(err)
			}
			in, x := readPB(t, filepath.Join(dir, "test_data_set_0", "input_0.pb"))
			out, want := readPB(t, filepath.Join(dir, "test_data_set_0", "output_0.pb"))
			model, err := os.ReadFile(filepath.Join(dir, "model.onnx"))
			if err != nil {
				t.Fatal(err)
			}
			feeds := map[string]oracle.Tensor{in: x}
			fromBytes, err := ort.Run(model, feeds)
			if err != nil {
				t.Fatal(err)
			}
			if err := oracle.Close(fromBytes[out], want, tolerance.RTol, tolerance.ATol); err != nil {
				t.Error(err)
			}
			fromFile, err := ort.RunFile(filepath.Join(dir, "model.onnx"), feeds)
			if err != nil {
				t.Fatal(err)
			}
			if err := oracle.Close(fromFile[out], fromBytes[out], 0, 0); err != nil {
				t.Errorf("file and bytes differ: %v", err)
			}
		})
	}
}

// An identity model of each element type shows that values pass through unharmed.
func TestORTElementTypes(t *testing.T) {
	ort := oracle.ORT(t)
	pack := func(x oracle.Tensor, err error) oracle.Tensor {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	halves := pack(oracle.Pack([]uint16{0x3c00, 0xc100, 0x7c00}, 3)) // 1, -2.5, +Inf
	halves.DType = "float16"
	for kind, x := range map[uint64]oracle.Tensor{
		1:  pack(oracle.Pack([]float32{1.5, -2, 3e-9}, 3)),
		2:  pack(oracle.Pack([]uint8{0, 7, 255}, 3, 1)),
		3:  pack(oracle.Pack([]int8{-128, 7, 127}, 3)),
		4:  pack(oracle.Pack([]uint16{0, 65535}, 2)),
		5:  pack(oracle.Pack([]int16{-32768, 5}, 2)),
		6:  pack(oracle.Pack([]int32{-1 << 31, 5}, 2)),
		7:  pack(oracle.Pack([]int64{-1 << 63, 1<<53 + 1}, 2)),
		8:  {DType: "string", Shape: []int{2}, Strings: []string{"graft", "Häuser"}},
		9:  pack(oracle.Pack([]bool{true, false}, 1, 2)),
		10: halves,
		11: pack(oracle.Pack([]float64{1e-300})), // a scalar
		12: pack(oracle.Pack([]uint32{0, 1<<32 - 1}, 2)),
		13: pack(oracle.Pack([]uint64{1<<64 - 1}, 1)),
	} {
		t.Run(x.DType, func(t *testing.T) {
			got, err := ort.Run(identity(kind, len(x.Shape)), map[string]oracle.Tensor{"x": x})
			if err != nil {
				t.Fatal(err)
			}
			y := got["y"]
			if err := oracle.Close(y, x, 0, 0); err != nil {
				t.Error(err)
			}
			if string(y.Data) != string(x.Data) {
				t.Errorf("bytes % x, want % x", y.Data, x.Data)
			}
		})
	}
	t.Run("nil shape", func(t *testing.T) {
		x := oracle.Tensor{DType: "float32", Data: []byte{0, 0, 128, 63}}
		if _, err := ort.Run(identity(1, 0), map[string]oracle.Tensor{"x": x}); err != nil {
			t.Error(err)
		}
	})
}

// identity returns a ModelProto, written by hand: y = Identity(x), of an element type and a rank with free dimensions.
func identity(kind uint64, rank int) []byte {
	msg := func(num protowire.Number, body []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), body)
	}
	integer := func(num protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), v)
	}
	join := func(parts ...[]byte) (all []byte) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	var dims []byte
	for i := range rank {
		dims = append(dims, msg(1, msg(2, []byte{'A' + byte(i)}))...)
	}
	typ := msg(2, msg(1, join(integer(1, kind), msg(2, dims))))
	value := func(name string) []byte { return join(msg(1, []byte(name)), typ) }
	node := join(msg(1, []byte("x")), msg(2, []byte("y")), msg(4, []byte("Identity")))
	graph := join(msg(1, node), msg(2, []byte("g")), msg(11, value("x")), msg(12, value("y")))
	return join(integer(1, 8), msg(7, graph), msg(8, integer(2, 16)))
}

func TestORTErrors(t *testing.T) {
	ort := oracle.ORT(t)
	if ort.Version() == "" {
		t.Error("no version")
	}
	one, err := oracle.Pack([]float32{1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		model []byte
		feed  oracle.Tensor
		want  string
	}{
		"no model":       {nil, one, "empty"},
		"broken model":   {[]byte("nonsense"), one, "ONNX Runtime: "},
		"wrong type":     {identity(7, 1), one, "ONNX Runtime: "},
		"unknown type":   {identity(1, 1), oracle.Tensor{DType: "float8e5m2", Shape: []int{1}, Data: []byte{1}}, "float8e5m2 is not offered"},
		"too few values": {identity(1, 1), oracle.Tensor{DType: "float32", Shape: []int{3}, Data: one.Data}, "ONNX Runtime: "},
	} {
		if _, err := ort.Run(c.model, map[string]oracle.Tensor{"x": c.feed}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, c.want)
		}
	}
	// A process that was ended is started anew, and one that is too slow is ended.
	ort.Close()
	if _, err := ort.Run(identity(1, 1), map[string]oracle.Tensor{"x": one}); err != nil {
		t.Errorf("after Close: %v", err)
	}
	ort.Timeout = time.Nanosecond
	if _, err := ort.Run(identity(1, 1), map[string]oracle.Tensor{"x": one}); err == nil {
		t.Error("no time, no error")
	}
	ort.Timeout = 0
	if _, err := ort.Run(identity(1, 1), map[string]oracle.Tensor{"x": one}); err != nil {
		t.Errorf("after a time-out: %v", err)
	}
}
