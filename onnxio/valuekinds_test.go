package onnxio

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

func textMessage[T proto.Message](t *testing.T, p T, text string) T {
	t.Helper()
	if err := prototext.Unmarshal([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	return p
}

const one = `data_type: 1 dims: 1 float_data: 5`

// TestSequenceKinds: sequences of all that ONNX has them of, and the element type that they get.
func TestSequenceKinds(t *testing.T) {
	sparse := `values { data_type: 1 dims: 1 float_data: 5 } indices { data_type: 7 dims: 1 int64_data: 1 } dims: 2`
	for _, c := range []struct {
		text string
		elem dtype.DType // declared
		want string      // items, then the element type; or the error
	}{
		{`elem_type: 1 tensor_values { ` + one + ` } tensor_values { ` + one + ` }`, 0, "[*tensor.Dense *tensor.Dense] float32"},
		{`elem_type: 2 sparse_tensor_values { ` + sparse + ` }`, 0, "[*tensor.Dense] float32"},
		{`elem_type: 3 sequence_values { elem_type: 1 tensor_values { ` + one + ` } }`, 0, "[*dtype.Sequence] float32"},
		{`elem_type: 3 sequence_values { elem_type: 1 }`, dtype.Int8, "[*dtype.Sequence] int8"},
		{`elem_type: 4 map_values { key_type: 7 keys: 2 values { elem_type: 1 tensor_values { ` + one + ` } } }`, 0, "[*dtype.Map] float32"},
		{`elem_type: 5 optional_values { elem_type: 1 tensor_value { ` + one + ` } }`, 0, "[*dtype.Optional] float32"},
		{`elem_type: 1`, dtype.Int8, "[] int8"},
		{``, dtype.Int8, "[] int8"},
		{`name: "s" elem_type: 9`, 0, `sequence "s": items of kind 9 are not supported`},
		{`name: "s" tensor_values { ` + one + ` }`, 0, `sequence "s": has values but no element type`},
		{`sparse_tensor_values { ` + sparse + ` }`, 0, `sequence "": has values but no element type`},
		{`sequence_values { }`, 0, `sequence "": has values but no element type`},
		{`optional_values { }`, 0, `sequence "": has values but no element type`},
		{`map_values { }`, 0, `sequence "": has values but no element type`},
		{`elem_type: 1 tensor_values { data_type: 1 dims: 2 } tensor_values { ` + one + ` }`, 0, `sequence "": tensor "": shape [2] of float32 takes 2 stored numbers, found 0`},
	} {
		s, err := decodeSequence(textMessage(t, &onnxpb.SequenceProto{}, c.text), c.elem, nil, 0)
		got := fmt.Sprint(err)
		if err == nil {
			var kinds []string
			for _, v := range s.Items {
				kinds = append(kinds, fmt.Sprintf("%T", v))
			}
			got = fmt.Sprint(kinds, " ", s.Elem)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

// TestOptionalKinds: the item of an optional, whether it is a sequence, and the element type that it gets.
func TestOptionalKinds(t *testing.T) {
	for _, c := range []struct {
		text string
		elem dtype.DType // declared
		want string
	}{
		{`tensor_value { ` + one + ` }`, 0, "*tensor.Dense float32 false"},
		{`tensor_value { ` + one + ` }`, dtype.Int8, "*tensor.Dense int8 false"},
		{`sparse_tensor_value { values { data_type: 1 dims: 0 } dims: 2 }`, 0, "*tensor.Dense float32 false"},
		{`sequence_value { elem_type: 1 tensor_values { ` + one + ` } }`, 0, "*dtype.Sequence float32 true"},
		{`optional_value { tensor_value { ` + one + ` } }`, 0, "*dtype.Optional float32 false"},
		{`map_value { key_type: 7 keys: 2 values { elem_type: 1 tensor_values { ` + one + ` } } }`, 0, "*dtype.Map float32 false"},
		{`elem_type: 1`, 0, "<nil> undefined false"},
		{`elem_type: 1`, dtype.Int8, "<nil> int8 false"},
		{`elem_type: 3`, dtype.Int8, "<nil> int8 true"},
		{`name: "o" tensor_value { data_type: 1 dims: 2 }`, 0, `optional "o": tensor "": shape [2] of float32 takes 2 stored numbers, found 0`},
	} {
		o, err := decodeOptional(textMessage(t, &onnxpb.OptionalProto{}, c.text), c.elem, nil, 0)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%T %v %v", o.Item, o.Elem, o.Seq)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

// TestValueNesting: 64 sequences and optionals in one another are read, one more is not.
func TestValueNesting(t *testing.T) {
	const limit = "nested more than 64 deep"
	sequences, optionals, mixed := &onnxpb.SequenceProto{}, &onnxpb.OptionalProto{}, &onnxpb.OptionalProto{}
	for depth := 1; depth <= 66; depth++ {
		sequences = &onnxpb.SequenceProto{ElemType: proto.Int32(3), SequenceValues: []*onnxpb.SequenceProto{sequences}}
		optionals = &onnxpb.OptionalProto{OptionalValue: optionals}
		if depth%2 == 0 {
			mixed = &onnxpb.OptionalProto{SequenceValue: &onnxpb.SequenceProto{ElemType: proto.Int32(5), OptionalValues: []*onnxpb.OptionalProto{mixed}}}
		}
		_, one := decodeSequence(sequences, 0, nil, 0)
		_, two := decodeOptional(optionals, 0, nil, 0)
		_, three := decodeOptional(mixed, 0, nil, 0)
		for i, err := range []error{one, two, three} {
			deep := depth > 64
			if i == 2 {
				deep = depth/2*2 > 64
			}
			if deep != (err != nil && strings.Contains(err.Error(), limit)) || !deep && err != nil {
				t.Errorf("%d deep: %v", depth, err)
			}
		}
	}
}

// TestMapValues: the values of a map are tensors of one type, one for each key or one of all.
func TestMapValues(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`key_type: 7 keys: [3, 4] values { elem_type: 1 tensor_values { data_type: 1 dims: 2 float_data: [1, 2] } }`, "[3 4] [1 2]"},
		{`key_type: 7 keys: [3, 4] values { elem_type: 1 tensor_values { data_type: 1 float_data: 1 } tensor_values { data_type: 1 float_data: 2 } }`, "[3 4] [1 2]"},
		{`key_type: 8 string_keys: ["b", "a"] values { elem_type: 1 tensor_values { data_type: 8 dims: 2 string_data: ["x", "y"] } }`, "[a b] [y x]"},
		{`key_type: 7`, "empty"},
		{`name: "m" key_type: 7 keys: [3, 4] values { elem_type: 1 tensor_values { data_type: 1 float_data: 1 } tensor_values { data_type: 7 int64_data: 2 } }`, `map "m": values of two types, float32 and int64`},
		{`name: "m" key_type: 7 keys: 3 values { elem_type: 3 sequence_values { elem_type: 1 } }`, `map "m": a value is a *dtype.Sequence, not a tensor`},
	} {
		m, err := decodeMap(textMessage(t, &onnxpb.MapProto{}, c.text), nil)
		got := fmt.Sprint(err)
		if err == nil && m.Keys.Size()+m.Values.Size() == 0 {
			got = "empty"
		} else if err == nil {
			got = fmt.Sprint(m.Keys.Data(), " ", m.Values.Data())
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

// TestSparseRefused: values and indices that do not fit one another or the shape.
func TestSparseRefused(t *testing.T) {
	values := func(n int) string {
		return fmt.Sprintf(`values { name: "s" data_type: 1 dims: %d %s } `, n, strings.Repeat("float_data: 5 ", n))
	}
	for _, c := range []struct{ text, want string }{
		{``, "the sparse tensor has no values"},
		{values(1) + `dims: 3`, "indices: "},
		{values(0) + `dims: 3 indices { data_type: 1 dims: 0 }`, "indices of type float32 and shape (0)"},
		{values(2) + `dims: [2, 3] indices { data_type: 7 dims: [3, 2] int64_data: [0, 0, 0, 1, 0, 2] }`, "wanted int64 [2] or [2 2]"},
		{values(2) + `dims: [2, 3] indices { data_type: 7 dims: [2, 2, 1] int64_data: [0, 0, 0, 1] }`, "wanted int64 [2] or [2 2]"},
		{values(2) + `dims: [2, 3] indices { data_type: 7 dims: [2, 2] int64_data: [0, 0, 1, 3] }`, "index [1 3] is outside of shape [2 3]"},
		{values(1) + `dims: [2, 3] indices { data_type: 8 dims: 1 string_data: "0" }`, "indices of type"},
		{`values { data_type: 8 dims: 1 string_data: "x" } dims: 3 indices { data_type: 7 dims: 1 int64_data: 0 }`, "wanted numbers in one dimension"},
		{`values { data_type: 1 dims: [1, 1] float_data: 5 } dims: 3 indices { data_type: 7 dims: 1 int64_data: 0 }`, "values of shape (1, 1)"},
		{`values { data_type: 1 dims: 2 } dims: 3 indices { data_type: 7 dims: 1 int64_data: 0 }`, "values: tensor"},
		{values(1) + `dims: -3 indices { data_type: 7 dims: 1 int64_data: 0 }`, "negative dimension"},
	} {
		if d, err := decodeSparse(textMessage(t, &onnxpb.SparseTensorProto{}, c.text), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v, want ...%s", c.text, d, err, c.want)
		}
	}
}

// TestSparseSize: a sparse tensor may take 64 MiB whatever the file holds, and 4096 times what it holds above that.
func TestSparseSize(t *testing.T) {
	for _, c := range []struct {
		size, values int
		ok           bool
	}{
		{1 << 22, 0, true}, {1<<22 + 4096, 1024, true}, {1<<22 + 4096, 1023, false}, {1<<22 + 1, 0, false},
	} {
		at := make([]int64, c.values)
		for i := range at {
			at[i] = int64(2 * i)
		}
		values, err := encodeTensor("s", dtype.New(dtype.Complex128, c.values))
		if err != nil {
			t.Fatal(err)
		}
		indices, err := encodeTensor("", dense(t, at, c.values))
		if err != nil {
			t.Fatal(err)
		}
		_, err = decodeSparse(&onnxpb.SparseTensorProto{Values: values, Indices: indices, Dims: []int64{int64(c.size)}}, nil)
		if c.ok != (err == nil) || err != nil && !strings.Contains(err.Error(), "is too large for") {
			t.Errorf("%d elements of 16 bytes, %d values: %v", c.size, c.values, err)
		}
	}
}

// TestEncodeRefused: tensors that ONNX has no element type for, values that do not go together.
func TestEncodeRefused(t *testing.T) {
	for want, v := range map[string]dtype.Value{
		`tensor "v": ONNX has no tensors of Go's uintptr`: tensor.New(tensor.WithBacking([]uintptr{1})),
		`tensor "v": ONNX has no tensors of Go's string`:  tensor.New(tensor.WithBacking([]string{"a"})),
		`sequence "v": items of different kinds`:          &dtype.Sequence{Items: []dtype.Value{dtype.Scalar[int64](1), &dtype.Sequence{}}},
		`sequence "v": item 1: tensor "": ONNX has no`:    &dtype.Sequence{Items: []dtype.Value{dtype.Scalar[int64](1), tensor.New(tensor.WithBacking([]uintptr{1}))}},
		`optional "v": tensor "": ONNX has no tensors of`: &dtype.Optional{Item: tensor.New(tensor.WithBacking([]uintptr{1}))},
	} {
		if _, err := encodeValue("v", v); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestReadValueRefused: what is not the message that the declared type says.
func TestReadValueRefused(t *testing.T) {
	if _, err := ReadValue(strings.NewReader("\xff"), op.Type{Kind: op.Sequence}); err == nil || !strings.HasPrefix(err.Error(), "not a SequenceProto: ") {
		t.Error(err)
	}
	if _, err := ReadTensor(strings.NewReader("")); err == nil || err.Error() != `tensor "": unknown element type 0` {
		t.Error(err)
	}
}

// TestDataSetFiles: which entries of a folder are data sets, and which declared types their files go by.
func TestDataSetFiles(t *testing.T) {
	empty := []byte{} // of a sequence or an optional; a tensor it is not
	fsys := fstest.MapFS{
		"test_data_set_1": {}, "test_data_set_0/input_0.pb": {Data: empty}, "test_data_set_0/output_0.pb": {Data: empty}, "test_data_set_0/notes.txt": {},
		"far/input_1001.pb": {Data: empty}, "near/input_1000.pb": {Data: empty}, "other/input_0.pb": {},
	}
	if names, err := DataSets(fsys, "."); err != nil || !slices.Equal(names, []string{"test_data_set_0"}) {
		t.Errorf("got %v, %v", names, err)
	}
	sequence, optional := []op.Type{{Kind: op.Sequence, DType: dtype.Int8}}, []op.Type{{Kind: op.Optional, DType: dtype.Float64}}
	set, err := ReadDataSet(fsys, "test_data_set_0", sequence, optional)
	if err != nil || len(set.Inputs) != 1 || len(set.Outputs) != 1 {
		t.Fatal(set, err)
	}
	if s, ok := set.Inputs[0].Value.(*dtype.Sequence); !ok || s.Elem != dtype.Int8 {
		t.Errorf("the input is %v", set.Inputs[0].Value)
	}
	if o, ok := set.Outputs[0].Value.(*dtype.Optional); !ok || o.Elem != dtype.Float64 {
		t.Errorf("the output is %v", set.Outputs[0].Value)
	}
	if _, err := ReadDataSet(fsys, "test_data_set_0", sequence, nil); err == nil || !strings.HasPrefix(err.Error(), "test_data_set_0/output_0.pb: tensor") {
		t.Error(err)
	}
	if _, err := ReadDataSet(fsys, "far", nil, nil); err == nil || err.Error() != "far: input_1001.pb is far beyond the number of files" {
		t.Error(err)
	}
	if _, err := ReadDataSet(fsys, "near", slices.Repeat(sequence, 1001), nil); err != nil {
		t.Error(err)
	}
	if _, err := ReadDataSet(fsys, "none", nil, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestSequenceMemory: what sparse tensors become is limited for all items of a sequence together, those of nested ones included.
func TestSequenceMemory(t *testing.T) {
	item := `sparse_tensor_values { values { data_type: 1 dims: 0 } dims: 1000 dims: 1000 } `
	inner := `sequence_values { elem_type: 2 ` + item + `} `
	nn.LimitMemory(1 << 40)
	defer nn.LimitMemory(0)
	nn.LimitMemory(1<<40 - nn.MemoryLeft() + 10_000_000) // beside what other tests have left
	for text, ok := range map[string]bool{
		`elem_type: 2 ` + strings.Repeat(item, 2): true, `elem_type: 2 ` + strings.Repeat(item, 200): false,
		`elem_type: 3 ` + strings.Repeat(inner, 2): true, `elem_type: 3 ` + strings.Repeat(inner, 200): false,
	} {
		_, err := decodeSequence(textMessage(t, &onnxpb.SequenceProto{}, text), dtype.Undefined, nil, 0)
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "its items: takes 4000000 bytes of memory") {
			t.Errorf("%.200s: %v", text, err)
		}
	}
}
