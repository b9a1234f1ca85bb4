package onnxio

import (
	"fmt"
	"unsafe"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// attributeType returns the declared type of an attribute. In files of the first ONNX versions, which do not
// declare it, it is derived from the field that is set.
func attributeType(a *onnxpb.AttributeProto) onnxpb.AttributeProto_AttributeType {
	if t := a.GetType(); t != onnxpb.AttributeProto_UNDEFINED {
		return t
	}
	switch {
	case a.F != nil:
		return onnxpb.AttributeProto_FLOAT
	case a.I != nil:
		return onnxpb.AttributeProto_INT
	case a.S != nil:
		return onnxpb.AttributeProto_STRING
	case a.T != nil:
		return onnxpb.AttributeProto_TENSOR
	case a.G != nil:
		return onnxpb.AttributeProto_GRAPH
	case a.SparseTensor != nil:
		return onnxpb.AttributeProto_SPARSE_TENSOR
	case a.Tp != nil:
		return onnxpb.AttributeProto_TYPE_PROTO
	case len(a.Floats) > 0:
		return onnxpb.AttributeProto_FLOATS
	case len(a.Ints) > 0:
		return onnxpb.AttributeProto_INTS
	case len(a.Strings) > 0:
		return onnxpb.AttributeProto_STRINGS
	}
	return onnxpb.AttributeProto_UNDEFINED
}

// checkFields returns an error if an attribute has a value in another field than that of its declared type.
func checkFields(a *onnxpb.AttributeProto) error {
	declared := a.GetType()
	for _, f := range []struct {
		t   onnxpb.AttributeProto_AttributeType
		set bool
	}{
		{onnxpb.AttributeProto_FLOAT, a.F != nil}, {onnxpb.AttributeProto_INT, a.I != nil}, {onnxpb.AttributeProto_STRING, a.S != nil},
		{onnxpb.AttributeProto_TENSOR, a.T != nil}, {onnxpb.AttributeProto_GRAPH, a.G != nil}, {onnxpb.AttributeProto_SPARSE_TENSOR, a.SparseTensor != nil},
		{onnxpb.AttributeProto_TYPE_PROTO, a.Tp != nil}, {onnxpb.AttributeProto_FLOATS, len(a.Floats) > 0}, {onnxpb.AttributeProto_INTS, len(a.Ints) > 0},
		{onnxpb.AttributeProto_STRINGS, len(a.Strings) > 0},
	} {
		if f.set && f.t != declared && declared != onnxpb.AttributeProto_UNDEFINED {
			return fmt.Errorf("is declared as %v, but has a value of type %v", declared, f.t)
		}
	}
	return nil
}

// decodeAttribute converts an attribute, except for a graph, to the argument of op.Op.Decode.
func decodeAttribute(a *onnxpb.AttributeProto, ext *externalFiles) (any, error) {
	switch t := attributeType(a); t {
	case onnxpb.AttributeProto_FLOAT:
		return a.GetF(), nil
	case onnxpb.AttributeProto_INT:
		return a.GetI(), nil
	case onnxpb.AttributeProto_STRING:
		return text(a.GetS()), nil
	case onnxpb.AttributeProto_FLOATS:
		return a.GetFloats(), nil
	case onnxpb.AttributeProto_INTS:
		return a.GetInts(), nil
	case onnxpb.AttributeProto_STRINGS:
		list := make([]string, len(a.Strings))
		for i, s := range a.Strings {
			list[i] = text(s)
		}
		return list, nil
	case onnxpb.AttributeProto_TENSOR:
		return decodeTensor(a.GetT(), ext)
	case onnxpb.AttributeProto_SPARSE_TENSOR:
		v, err := decodeSparse(a.GetSparseTensor(), ext)
		if err != nil {
			return nil, err
		}
		return dtype.Value(v), nil
	case onnxpb.AttributeProto_TYPE_PROTO:
		return decodeType(a.GetTp())
	default:
		return nil, fmt.Errorf("attributes of type %v are not supported", t)
	}
}

// text returns the bytes of a message, which nothing changes any more, as a string in the same memory.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf returns a string as bytes in the same memory, which must not be changed.
func bytesOf(s string) []byte {
	if s == "" {
		return []byte{} // nil is an attribute without content
	}
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// encodeAttribute is the inverse of decodeAttribute; graph encodes subgraphs.
func encodeAttribute(name string, v any, graph func(*nn.Body) (*onnxpb.GraphProto, error)) (*onnxpb.AttributeProto, error) {
	a := &onnxpb.AttributeProto{Name: proto.String(name)}
	var err error
	switch v := v.(type) {
	case float32:
		a.Type, a.F = onnxpb.AttributeProto_FLOAT.Enum(), proto.Float32(v)
	case int64:
		a.Type, a.I = onnxpb.AttributeProto_INT.Enum(), proto.Int64(v)
	case string:
		a.Type, a.S = onnxpb.AttributeProto_STRING.Enum(), bytesOf(v)
	case []float32:
		a.Type, a.Floats = onnxpb.AttributeProto_FLOATS.Enum(), v
	case []int64:
		a.Type, a.Ints = onnxpb.AttributeProto_INTS.Enum(), v
	case []string:
		a.Type = onnxpb.AttributeProto_STRINGS.Enum()
		for _, s := range v {
			a.Strings = append(a.Strings, bytesOf(s))
		}
	case *tensor.Dense, *dtype.Strings:
		a.Type = onnxpb.AttributeProto_TENSOR.Enum()
		a.T, err = encodeTensor("", v.(dtype.Value))
	case op.Type:
		a.Type, a.Tp = onnxpb.AttributeProto_TYPE_PROTO.Enum(), encodeType(v)
	case *nn.Body:
		a.Type = onnxpb.AttributeProto_GRAPH.Enum()
		a.G, err = graph(v)
	default:
		err = fmt.Errorf("a %T has no ONNX form", v)
	}
	if err != nil {
		return nil, fmt.Errorf("attribute %s: %w", name, err)
	}
	return a, nil
}

// copyAttribute returns a copy of a with other subgraphs, which shares nothing with a that a writer changes.
func copyAttribute(a *onnxpb.AttributeProto, g *onnxpb.GraphProto) *onnxpb.AttributeProto {
	b := &onnxpb.AttributeProto{Name: a.Name, RefAttrName: a.RefAttrName, DocString: a.DocString, Type: a.Type, G: g}
	b.ProtoReflect().SetUnknown(a.ProtoReflect().GetUnknown())
	return b
}
