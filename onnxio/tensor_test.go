package onnxio

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// same reports whether two values have one type, one shape and the same bits.
func same(a, b dtype.Value) bool {
	switch a := a.(type) {
	case *tensor.Dense:
		b, ok := b.(*tensor.Dense)
		return ok && a.Dtype() == b.Dtype() && slices.Equal(a.Shape(), b.Shape()) && bytes.Equal(dtype.Bytes(a), dtype.Bytes(b))
	case *dtype.Strings:
		b, ok := b.(*dtype.Strings)
		return ok && slices.Equal(a.Dims, b.Dims) && slices.Equal(a.Elems, b.Elems)
	case *dtype.Sequence:
		b, ok := b.(*dtype.Sequence)
		return ok && a.Elem == b.Elem && slices.EqualFunc(a.Items, b.Items, same)
	case *dtype.Optional:
		b, ok := b.(*dtype.Optional)
		return ok && a.Elem == b.Elem && a.Seq == b.Seq && (a.Item == nil) == (b.Item == nil) && (a.Item == nil || same(a.Item, b.Item))
	case *dtype.Map:
		b, ok := b.(*dtype.Map)
		return ok && same(a.Keys, b.Keys) && same(a.Values, b.Values)
	}
	return false
}

func dense[T any](t *testing.T, elems []T, shape ...int) dtype.Value {
	t.Helper()
	d, err := dtype.FromSlice(elems, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// random makes a tensor of any type whose elements have random bits that are valid for the type.
func random(t *testing.T, dt dtype.DType, r *rand.Rand, shape ...int) dtype.Value {
	n, err := dtype.Count(shape)
	if err != nil {
		t.Fatal(err)
	}
	if dt == dtype.String {
		elems := make([]string, n)
		for i := range elems {
			elems[i] = fmt.Sprint("ä", r.IntN(1000))
		}
		s, err := dtype.NewStrings(elems, shape...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	d := dtype.New(dt, shape...)
	b := dtype.Bytes(d)
	for i := range b {
		b[i] = byte(r.Uint32())
		if dt == dtype.Bool {
			b[i] &= 1
		} else if dt.Bits() < 8 && dt.IsSigned() {
			b[i] = byte(int8(b[i]) >> (8 - dt.Bits()))
		} else if dt.Bits() < 8 {
			b[i] >>= 8 - dt.Bits()
		}
	}
	return d
}

func TestTensorRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, dt := range dtype.All() {
		for _, shape := range [][]int{nil, {0}, {7}, {2, 0, 3}, {3, 5}} {
			v := random(t, dt, r, shape...)
			var b bytes.Buffer
			if err := WriteTensor(&b, NamedValue{"x", v}); err != nil {
				t.Fatal(err)
			}
			got, err := ReadTensor(&b)
			if err != nil {
				t.Fatalf("%v%v: %v", dt, shape, err)
			}
			if got.Name != "x" || !same(got.Value, v) {
				t.Errorf("%v%v: got %v, want %v", dt, shape, got.Value, v)
			}
		}
	}
}

// TestTypedFields reads tensors whose elements are in the field for their type.
func TestTypedFields(t *testing.T) {
	half := func(f float32) int32 { return int32(dtype.F16From(f)) }
	for _, c := range []struct {
		dt   dtype.DType
		p    *onnxpb.TensorProto
		want []float64
	}{
		{dtype.Float32, &onnxpb.TensorProto{FloatData: []float32{1, -2.5}}, []float64{1, -2.5}},
		{dtype.Float64, &onnxpb.TensorProto{DoubleData: []float64{1, -2.5}}, []float64{1, -2.5}},
		{dtype.Int64, &onnxpb.TensorProto{Int64Data: []int64{-1, 5}}, []float64{-1, 5}},
		{dtype.Uint64, &onnxpb.TensorProto{Uint64Data: []uint64{1 << 63, 5}}, []float64{1 << 63, 5}},
		{dtype.Uint32, &onnxpb.TensorProto{Uint64Data: []uint64{1 << 31, 5}}, []float64{1 << 31, 5}},
		{dtype.Int32, &onnxpb.TensorProto{Int32Data: []int32{-7, 5}}, []float64{-7, 5}},
		{dtype.Int16, &onnxpb.TensorProto{Int32Data: []int32{-7, 5}}, []float64{-7, 5}},
		{dtype.Int8, &onnxpb.TensorProto{Int32Data: []int32{-7, 5}}, []float64{-7, 5}},
		{dtype.Uint16, &onnxpb.TensorProto{Int32Data: []int32{65535, 5}}, []float64{65535, 5}},
		{dtype.Uint8, &onnxpb.TensorProto{Int32Data: []int32{255, 5}}, []float64{255, 5}},
		{dtype.Bool, &onnxpb.TensorProto{Int32Data: []int32{2, 0}}, []float64{1, 0}},
		{dtype.Float16, &onnxpb.TensorProto{Int32Data: []int32{half(1.5), half(-2)}}, []float64{1.5, -2}},
		{dtype.BFloat16, &onnxpb.TensorProto{Int32Data: []int32{0x3f80, 0xc000}}, []float64{1, -2}},
		{dtype.Float8E5M2, &onnxpb.TensorProto{Int32Data: []int32{0x3c, 0xc0}}, []float64{1, -2}},
		{dtype.Int4, &onnxpb.TensorProto{Int32Data: []int32{0x8f, 0x07}}, []float64{-1, -8, 7}},
		{dtype.Uint4, &onnxpb.TensorProto{Int32Data: []int32{0x8f, 0x07}}, []float64{15, 8, 7}},
		{dtype.Float4E2M1, &onnxpb.TensorProto{Int32Data: []int32{0xf7}}, []float64{6, -6}},
		{dtype.Int2, &onnxpb.TensorProto{Int32Data: []int32{0xe4, 0x01}}, []float64{0, 1, -2, -1, 1}},
		{dtype.Uint2, &onnxpb.TensorProto{RawData: []byte{0xe4, 0x01}}, []float64{0, 1, 2, 3, 1}},
		{dtype.Bool, &onnxpb.TensorProto{RawData: []byte{7, 0}}, []float64{1, 0}},
	} {
		c.p.DataType, c.p.Dims = proto.Int32(int32(c.dt)), []int64{int64(len(c.want))}
		v, err := decodeTensor(c.p, nil)
		if err != nil {
			t.Errorf("%v: %v", c.dt, err)
			continue
		}
		got, err := dtype.Float64s(v.(*tensor.Dense))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v (%v)", c.dt, got, c.want, err)
		}
	}
}

func TestTensorRefused(t *testing.T) {
	p := func(dt dtype.DType, dims ...int64) *onnxpb.TensorProto {
		return &onnxpb.TensorProto{Name: proto.String("w"), DataType: proto.Int32(int32(dt)), Dims: dims}
	}
	with := func(p *onnxpb.TensorProto, change func(*onnxpb.TensorProto)) *onnxpb.TensorProto {
		change(p)
		return p
	}
	external := func(p *onnxpb.TensorProto, entries ...string) *onnxpb.TensorProto {
		p.DataLocation = onnxpb.TensorProto_EXTERNAL.Enum()
		for i := 0; i < len(entries); i += 2 {
			p.ExternalData = append(p.ExternalData, entry(entries[i], entries[i+1]))
		}
		return p
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "data"), make([]byte, 12), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	ext, err := openExternal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ext.close()
	for _, c := range []struct {
		p    *onnxpb.TensorProto
		want string
	}{
		{p(0), "unknown element type 0"},
		{p(99), "unknown element type 99"},
		{p(dtype.Float32, -1), "negative dimension"},
		{p(dtype.Float32, 1<<40, 1<<40), "too many elements"},
		{p(dtype.Float32, 1<<62), "takes 4611686018427387904 stored numbers, found 0"},
		{p(dtype.Complex64, 1<<62), "found 0"},
		{p(dtype.Float32, 2), "takes 2 stored numbers, found 0"},
		{p(dtype.String, 1<<40), "takes 1099511627776 strings, found 0"},
		{with(p(dtype.Float32, 1<<40), func(p *onnxpb.TensorProto) { p.RawData = make([]byte, 8) }), "1099511627776 elements of float32 take 4398046511104 bytes, found 8"},
		{with(p(dtype.Int4, 3), func(p *onnxpb.TensorProto) { p.RawData = make([]byte, 3) }), "3 elements of int4 take 2 bytes, found 3"},
		{with(p(dtype.Float32, 0), func(p *onnxpb.TensorProto) { p.RawData = make([]byte, 3) }), "take 0 bytes, found 3"},
		{with(p(dtype.Float32, 1), func(p *onnxpb.TensorProto) { p.Segment = &onnxpb.TensorProto_Segment{} }), "segments"},
		{external(p(dtype.Float32, 3)), "not a path inside"},
		{external(p(dtype.Float32, 3), "location", "../data"), "not a path inside"},
		{external(p(dtype.Float32, 3), "location", "/etc/passwd"), "not a path inside"},
		{external(p(dtype.Float32, 3), "location", "link/passwd"), "escapes"},
		{external(p(dtype.Float32, 3), "location", "nothing"), "no such file"},
		{external(p(dtype.Float32, 3), "location", "data", "offset", "-4"), "not a number of bytes"},
		{external(p(dtype.Float32, 3), "location", "data", "offset", "x"), "not a number of bytes"},
		{external(p(dtype.Float32, 3), "location", "data", "offset", "4"), `"data" has 12 bytes, wanted 12 from 4`},
		{external(p(dtype.Float32, 3), "location", "data", "length", "16"), "takes 12 bytes, external data have length 16"},
		{external(p(dtype.Float32, 1<<40), "location", "data"), "wanted 4398046511104 from 0"},
		{external(p(dtype.Int8, 1), "location", "data", "offset", "9223372036854775807"), "not a number of bytes"},
		{external(p(dtype.String, 1), "location", "data"), "strings cannot be external"},
		{external(p(dtype.Float32, 9), "location", `{"type": "stripped", "average": -Infinity, "variance": NaN}`), "float32[9] were stripped (average -Inf, variance NaN)"},
	} {
		_, err := decodeTensor(c.p, ext)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), `tensor "w": `) {
			t.Errorf("got %v, want ...%s", err, c.want)
		}
	}
}

func TestExternalRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	dir := t.TempDir()
	var values []dtype.Value
	var protos []*onnxpb.TensorProto
	err := WriteFile(filepath.Join(dir, "m.data"), func(w io.Writer) error {
		sink := &externalSink{w: w, location: "m.data"}
		for _, dt := range dtype.All() {
			if dt == dtype.String {
				continue
			}
			v := random(t, dt, r, 3, 5)
			p, err := encodeTensor(dt.String(), v)
			if err != nil {
				return err
			}
			if err := sink.put(p, rawBytes(p.RawData)); err != nil {
				return err
			}
			values, protos = append(values, v), append(protos, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ext := &externalFiles{fsys: os.DirFS(filepath.Dir(dir)), dir: filepath.Base(dir)}
	defer ext.close()
	for i, p := range protos {
		got, err := decodeTensor(p, ext)
		if err != nil || !same(got, values[i]) {
			t.Errorf("%s: got %v, want %v: %v", p.GetName(), got, values[i], err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestStrip(t *testing.T) {
	v, err := dtype.FromSlice([]float32{1, 2, 3, 6}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	p, err := encodeTensor("w", v)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := stripTensor(p, 4); done || err != nil {
		t.Fatalf("stripped 4 elements at 4: %v", err)
	}
	if done, err := stripTensor(p, 3); !done || err != nil {
		t.Fatalf("did not strip: %v", err)
	}
	if got, want := p.ExternalData[0].GetValue(), `{"type": "stripped", "average": 3.0, "variance": 3.5}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := p.ExternalData[1].GetValue(); got != "16" || p.RawData != nil {
		t.Errorf("length %s, raw data %v", got, p.RawData)
	}
	if done, err := stripTensor(p, 1); done || err != nil {
		t.Errorf("stripped twice: %v", err)
	}
	if done, err := unstripTensor(p, rand.New(rand.NewPCG(1, 2))); !done || err != nil {
		t.Fatal(err)
	}
	if got, err := decodeTensor(p, nil); err != nil || got.Size() != 4 {
		t.Errorf("got %v, %v", got, err)
	}
	big := &onnxpb.TensorProto{DataType: proto.Int32(1), Dims: []int64{1 << 40}, DataLocation: onnxpb.TensorProto_EXTERNAL.Enum(),
		ExternalData: []*onnxpb.StringStringEntryProto{entry("location", `{"type": "stripped", "average": 0.0, "variance": 1.0}`)}}
	if _, err := unstripTensor(big, rand.New(rand.NewPCG(1, 2))); err == nil {
		t.Error("filled 4 TB")
	}
}
