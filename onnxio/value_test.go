package onnxio

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

func TestValueRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	x, s := random(t, dtype.Float32, r, 2, 3), random(t, dtype.String, r, 2)
	seq := &dtype.Sequence{Elem: dtype.Float32, Items: []dtype.Value{x, random(t, dtype.Float32, r, 0)}}
	for name, c := range map[string]struct {
		v    dtype.Value
		kind op.Kind
	}{
		"tensor":            {x, op.Tensor},
		"strings":           {s, op.Tensor},
		"sequence":          {seq, op.Sequence},
		"empty sequence":    {&dtype.Sequence{Elem: dtype.Float32}, op.Sequence},
		"nested":            {&dtype.Sequence{Elem: dtype.Float32, Items: []dtype.Value{seq, seq}}, op.Sequence},
		"of strings":        {&dtype.Sequence{Elem: dtype.String, Items: []dtype.Value{s}}, op.Sequence},
		"optional":          {&dtype.Optional{Elem: dtype.Float32, Item: x}, op.Optional},
		"optional sequence": {&dtype.Optional{Elem: dtype.Float32, Seq: true, Item: seq}, op.Optional},
		"none":              {&dtype.Optional{Elem: dtype.Float32, Seq: true}, op.Optional},
	} {
		var b bytes.Buffer
		if err := WriteValue(&b, NamedValue{"v", c.v}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := ReadValue(&b, op.Type{Kind: c.kind, DType: dtype.DTypeOf(c.v)})
		if err != nil || got.Name != "v" || !same(got.Value, c.v) {
			t.Errorf("%s: got %q %v, want %v: %v", name, got.Name, got.Value, c.v, err)
		}
	}
}

func TestSparse(t *testing.T) {
	d, err := dtype.FromSlice([]float32{0, 0, 1.5, 0, -2, 0}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	p, err := encodeSparse("s", d)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Values.RawData) != 8 {
		t.Errorf("stored %d bytes of values", len(p.Values.RawData))
	}
	if got, err := decodeSparse(p, nil); err != nil || !same(got, d) {
		t.Errorf("got %v: %v", got, err)
	}
	indices, err := dtype.FromSlice([]int64{0, 2, 1, 1}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	if p.Indices, err = encodeTensor("", indices); err != nil {
		t.Fatal(err)
	}
	if got, err := decodeSparse(p, nil); err != nil || !same(got, d) {
		t.Errorf("coordinates: got %v: %v", got, err)
	}
	for _, c := range []struct {
		dims []int64
		want string
	}{
		{[]int64{2, 2}, "outside of shape [2 2]"},
		{[]int64{6}, "wanted int64 [2] or [2 1]"},
		{[]int64{1 << 20, 1 << 20}, "too large for 2 values"},
	} {
		p.Dims = c.dims
		if _, err := decodeSparse(p, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v", c.dims, err)
		}
	}
}

// TestSparsePlaces checks that indices of a sparse tensor must be unique and within its shape.
func TestSparsePlaces(t *testing.T) {
	d := dtype.New(dtype.Float32, 2, 3)
	dtype.Slice[float32](d)[5] = 4
	p, err := encodeSparse("s", d)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		places []int64
		ok     bool
	}{
		{[]int64{0}, true}, {[]int64{5}, true}, {[]int64{6}, false}, {[]int64{-1}, false},
		{[]int64{0, 0}, true}, {[]int64{1, 2}, true}, {[]int64{1, 3}, false}, {[]int64{2, 0}, false}, {[]int64{0, -1}, false},
	} {
		shape := []int{1, 2}[:len(c.places)]
		indices, err := dtype.FromSlice(c.places, shape...)
		if err != nil {
			t.Fatal(err)
		}
		if p.Indices, err = encodeTensor("", indices); err != nil {
			t.Fatal(err)
		}
		got, err := decodeSparse(p, nil)
		if c.ok != (err == nil) || err != nil && !strings.Contains(err.Error(), "outside of shape [2 3]") {
			t.Errorf("%v: %v", c.places, err)
			continue
		}
		at := c.places[0]
		if len(c.places) == 2 {
			at = 3*at + c.places[1]
		}
		if c.ok && dtype.Slice[float32](got)[at] != 4 {
			t.Errorf("%v: got %v", c.places, got)
		}
	}
}

func TestNestingRefused(t *testing.T) {
	p := &onnxpb.SequenceProto{}
	for range 100 {
		p = &onnxpb.SequenceProto{ElemType: proto.Int32(3), SequenceValues: []*onnxpb.SequenceProto{p}}
	}
	if _, err := decodeSequence(p, 0, nil, 0); err == nil || !strings.Contains(err.Error(), "nested more than 64 deep") {
		t.Errorf("got %v", err)
	}
}

func TestDataSet(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	dir := t.TempDir()
	x := random(t, dtype.Float32, r, 2)
	set := &DataSet{Outputs: []NamedValue{{"y", x}}, Gradients: []NamedValue{{}, {"w", x}}}
	for range 12 {
		set.Inputs = append(set.Inputs, NamedValue{"x", random(t, dtype.Int64, r, 1)})
	}
	set.Inputs[3] = NamedValue{"list", &dtype.Sequence{Elem: dtype.Float32, Items: []dtype.Value{x}}}
	sub := filepath.Join(dir, "test_data_set_10")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(sub, "output_7.pb"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{sub, filepath.Join(dir, "test_data_set_2")} {
		if err := set.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	names, err := DataSets(os.DirFS(dir), ".")
	if err != nil || !slices.Equal(names, []string{"test_data_set_2", "test_data_set_10"}) {
		t.Fatalf("got %v, %v", names, err)
	}
	got, err := ReadDataSet(os.DirFS(dir), names[1], []op.Type{3: {Kind: op.Sequence}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Inputs) != 12 || len(got.Outputs) != 1 || len(got.Gradients) != 2 || got.Gradients[0].Value != nil {
		t.Fatalf("got %d inputs, %d outputs, gradients %v", len(got.Inputs), len(got.Outputs), got.Gradients)
	}
	for i := range got.Inputs {
		if got.Inputs[i].Name != set.Inputs[i].Name || !same(got.Inputs[i].Value, set.Inputs[i].Value) {
			t.Errorf("input %d: got %v", i, got.Inputs[i])
		}
	}
	for i, item := range []string{"input_3_00.pb", "input_3_01.pb"} {
		var b bytes.Buffer
		if err := WriteTensor(&b, NamedValue{"part", dtype.Scalar(int64(i))}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sub, item), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.Remove(filepath.Join(sub, "input_3.pb"))
	got, err = ReadDataSet(os.DirFS(dir), names[1], []op.Type{3: {Kind: op.Sequence}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := got.Inputs[3].Value.(*dtype.Sequence); !ok || len(s.Items) != 2 || s.Elem != dtype.Int64 {
		t.Errorf("parts became %v", got.Inputs[3].Value)
	}
}

func TestMatchNames(t *testing.T) {
	a, b := NamedValue{"a", dtype.Scalar[int64](1)}, NamedValue{"b", dtype.Scalar[int64](2)}
	for _, c := range []struct{ in, want []NamedValue }{
		{[]NamedValue{b, a}, []NamedValue{a, b}},
		{[]NamedValue{{"", b.Value}, a}, []NamedValue{{"", b.Value}, a}},
	} {
		if got, err := MatchNames([]string{"a", "b"}, c.in); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("got %v, %v; want %v", got, err, c.want)
		}
	}
	if _, err := MatchNames([]string{"a"}, nil); err == nil || err.Error() != `want a value for each of ["a"], got 0` {
		t.Errorf("got %v", err)
	}
}

// TestKitchen reads a model that ONNX's own Python package wrote, with every kind of content.
func TestKitchen(t *testing.T) {
	b, err := os.ReadFile("testdata/kitchen.onnx")
	if err != nil {
		t.Fatal(err)
	}
	m := &onnxpb.ModelProto{}
	if err := checkMessage(b, m); err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Graph.Initializer {
		v, err := decodeTensor(p, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		d, ok := v.(*tensor.Dense)
		if !ok {
			if s := v.(*dtype.Strings).Elems; s[5] != "s5" {
				t.Errorf("strings: %q", s)
			}
			continue
		}
		if d.Shape().TotalSize() == 0 {
			if !slices.Equal(d.Shape(), []int{0, 3}) {
				t.Errorf("%s has shape %v", p.GetName(), d.Shape())
			}
			continue
		}
		dt := dtype.Of(d.Dtype())
		if dt.IsComplex() {
			c, err := dtype.ConvertTo(dtype.Complex128, d)
			if err != nil || dtype.Slice[complex128](c)[5] != 4 {
				t.Errorf("%s: %v %v", p.GetName(), c, err)
			}
			continue
		}
		f, err := dtype.Float64s(d)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range f {
			want := float64(i - 1)
			if dt.IsUnsigned() {
				want++
			} else if dt == dtype.Bool {
				want = float64(min(i, 1))
			}
			if got != want {
				t.Errorf("%s: element %d is %v, not %v", p.GetName(), i, got, want)
			}
		}
	}
	for _, p := range m.Graph.SparseInitializer {
		d, err := decodeSparse(p, nil)
		if err != nil || !slices.Equal(dtype.Slice[float32](d), []float32{0, 1.5, 0, 0, 0, -2}) {
			t.Errorf("%s: %v %v", p.GetValues().GetName(), d, err)
		}
	}
	want := []string{"bool[]", "float32[N,?,3]", "seq(float32[N,?,3])", "optional(seq(float32[N,?,3]))"}
	for i, typ := range declaredTypes(t, m.Graph.Input) {
		if i >= len(want) || typ.String() != want[i] {
			t.Errorf("input %d is %v, want %v", i, typ, want)
		}
	}
	if f := m.Functions[0]; f.GetName() != "Own" || f.GetDomain() != "graft.test" || m.Graph.Node[1].Attribute[5].SparseTensor == nil {
		t.Errorf("function %v, attributes %v", f, m.Graph.Node[1].Attribute)
	}
}
