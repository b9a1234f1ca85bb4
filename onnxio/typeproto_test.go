package onnxio

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func typeProto(t *testing.T, text string) *onnxpb.TypeProto {
	t.Helper()
	p := &onnxpb.TypeProto{}
	if err := prototext.Unmarshal([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTypes: what files declare, what it is called here, and what is declared again.
func TestTypes(t *testing.T) {
	const vector = `tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } }`
	for _, c := range []struct{ file, want, again string }{
		{vector, "float32[3]", vector},
		{`tensor_type { elem_type: 7 }`, "int64", `tensor_type { elem_type: 7 }`},
		{`tensor_type { elem_type: 7 shape { } }`, "int64[]", `tensor_type { elem_type: 7 shape { } }`},
		{`sparse_tensor_type { elem_type: 1 shape { dim { dim_param: "N" } } }`, "sparse(float32[N])", `sparse_tensor_type { elem_type: 1 shape { dim { dim_param: "N" } } }`},
		{`sequence_type { elem_type { ` + vector + ` } }`, "seq(float32[3])", `sequence_type { elem_type { ` + vector + ` } }`},
		{`optional_type { elem_type { sequence_type { elem_type { ` + vector + ` } } } }`, "optional(seq(float32[3]))", `optional_type { elem_type { sequence_type { elem_type { ` + vector + ` } } } }`},
		{`map_type { key_type: 8 value_type { ` + vector + ` } }`, "map(string,float32[3])", `map_type { key_type: 8 value_type { ` + vector + ` } }`},
		{`sequence_type { elem_type { } }`, "seq(undefined)", `sequence_type { elem_type { } }`},
		{`sequence_type { }`, "seq(undefined)", `sequence_type { elem_type { } }`},
		{`tensor_type { elem_type: 99 }`, "unknown element type 99", ""},
		{``, "undefined", ""},
	} {
		typ, err := decodeType(typeProto(t, c.file))
		got := typ.String()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.file, got, c.want)
		}
		if c.again == "" {
			if p := encodeType(typ); err == nil && p != nil {
				t.Errorf("%s: declared as %v", c.file, p)
			}
			continue
		}
		if p := encodeType(typ); !proto.Equal(p, typeProto(t, c.again)) {
			t.Errorf("%s: declared as %v", c.file, p)
		}
	}
	if p := encodeType(op.Type{Kind: op.Sequence}); !proto.Equal(p, typeProto(t, `sequence_type { elem_type { } }`)) {
		t.Errorf("a sequence of anything is declared as %v", p)
	}
}

// TestDims: a name that no expression of dimensions has is as good as none.
func TestDims(t *testing.T) {
	for dim, want := range map[string]string{
		`dim_value: 0`: "0", `dim_value: 7`: "7", `dim_value: -1`: "?", `dim_value: -7`: "?", ``: "?",
		`dim_param: "N"`: "N", `dim_param: " N "`: "N", `dim_param: "2*N"`: "2*N",
		`dim_param: ""`: "?", `dim_param: "None"`: "?", `dim_param: "?"`: "?", `dim_param: "(N"`: "?", `dim_param: "3"`: "?",
	} {
		got, err := decodeType(typeProto(t, `tensor_type { elem_type: 1 shape { dim { `+dim+` } } }`))
		if err != nil || got.String() != "float32["+want+"]" || want == "?" && got.Shape[0] != op.Unknown() {
			t.Errorf("%s: got %v (%+v), %v", dim, got, got.Shape, err)
		}
	}
}

// TestTypeNesting: 64 sequences in one another are read, one more is not.
func TestTypeNesting(t *testing.T) {
	nested := func(n int) *onnxpb.TypeProto {
		p := typeProto(t, `tensor_type { elem_type: 1 }`)
		for i := range n {
			if i%2 == 0 {
				p = &onnxpb.TypeProto{Value: &onnxpb.TypeProto_SequenceType{SequenceType: &onnxpb.TypeProto_Sequence{ElemType: p}}}
			} else {
				p = &onnxpb.TypeProto{Value: &onnxpb.TypeProto_OptionalType{OptionalType: &onnxpb.TypeProto_Optional{ElemType: p}}}
			}
		}
		return p
	}
	if _, err := decodeType(nested(64)); err != nil {
		t.Error(err)
	}
	if _, err := decodeType(nested(65)); err == nil || err.Error() != "a type is nested more than 64 deep" {
		t.Error(err)
	}
}

// TestRefineType: a declaration stays as far as a type does not contradict it.
func TestRefineType(t *testing.T) {
	vector := func(elem, dims string) string {
		text := `tensor_type { elem_type: ` + elem + ` shape { `
		for _, d := range strings.Fields(dims) {
			switch {
			case d == "?":
				text += `dim { denotation: "D" } `
			case d[0] >= '0' && d[0] <= '9':
				text += `dim { dim_value: ` + d + ` denotation: "D" } `
			default:
				text += `dim { dim_param: "` + d + `" denotation: "D" } `
			}
		}
		return text + `} } denotation: "T"`
	}
	dims := func(list ...op.Dim) op.Type { return op.Type{DType: dtype.Float32, Shape: list} }
	three, four := op.D(3), op.D(4)
	n := op.Sym("N")
	both := op.Dim{Size: 3, Sym: "N"} // a symbol of which the number is known at the moment
	for _, c := range []struct {
		old  string
		now  op.Type
		want string // "": old itself
	}{
		{vector("1", "3 N ?"), dims(three, n, op.Unknown()), ""},
		{vector("1", "N ?"), dims(three, four), ""},
		{vector("1", "N"), dims(op.Sym("M")), ""},
		{vector("1", "3"), dims(op.Unknown()), ""},
		{vector("1", "3"), op.Type{}, ""},
		{vector("1", "3"), op.Type{DType: dtype.Float32, Unranked: true}, ""},
		{`tensor_type { elem_type: 1 }`, dims(three), ""},
		{`tensor_type { elem_type: 99 }`, dims(three), ""},
		{`sequence_type { elem_type { tensor_type { elem_type: 1 } } }`, op.Type{Kind: op.Sequence, Elem: &op.Type{DType: dtype.Float32, Unranked: true}}, ""},
		{vector("1", "3 3 N"), dims(four, four, three), vector("1", "4 4 N")},
		{vector("1", "3 3"), dims(three, four), vector("1", "3 4")},
		{vector("1", "3 3"), dims(n, both), vector("1", "N N")},
		{vector("1", "3"), dims(three, three), `tensor_type { elem_type: 1 shape { dim { dim_value: 3 } dim { dim_value: 3 } } }`},
		{vector("7", "3"), dims(three), `tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } }`},
		{`sequence_type { elem_type { } }`, dims(three), `tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } }`},
		{``, dims(three), `tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } }`},
	} {
		p := typeProto(t, c.old)
		got := refineType(p, c.now)
		if !proto.Equal(p, typeProto(t, c.old)) {
			t.Errorf("%s, now %v: the declaration itself was changed to %v", c.old, c.now, p)
		}
		if c.want == "" {
			if got != p {
				t.Errorf("%s, now %v: got %v, want the declaration itself", c.old, c.now, got)
			}
		} else if !proto.Equal(got, typeProto(t, c.want)) {
			t.Errorf("%s, now %v: got %v, want %s", c.old, c.now, got, c.want)
		}
	}
}
