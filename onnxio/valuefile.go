package onnxio

import (
	"fmt"
	"io"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio/onnxpb"
	"google.golang.org/protobuf/proto"
)

// Named is a value and the name that its file gives it.
type Named struct {
	Name  string
	Value dtype.Value
}

// ReadTensor reads a serialized TensorProto: a *tensor.Dense, or a *dtype.Strings. The error is a
// *StrippedError if its data were stripped.
func ReadTensor(r io.Reader) (Named, error) { return ReadValue(r, KindTensor, dtype.Undefined) }

// ReadValue reads a serialized value of the given kind; a sparse tensor becomes a dense one.
// An empty sequence or optional takes elem as its element type, which may be Undefined.
func ReadValue(r io.Reader, kind Kind, elem dtype.DType) (Named, error) {
	var p proto.Message
	switch kind {
	case KindTensor:
		p = &onnxpb.TensorProto{}
	case KindSparse:
		p = &onnxpb.SparseTensorProto{}
	case KindSequence:
		p = &onnxpb.SequenceProto{}
	case KindOptional:
		p = &onnxpb.OptionalProto{}
	case KindMap:
		p = &onnxpb.MapProto{}
	default:
		return Named{}, fmt.Errorf("reading a value of kind %v is not supported", kind)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return Named{}, err
	}
	if err := proto.Unmarshal(b, p); err != nil {
		return Named{}, fmt.Errorf("no %v: %w", kind, err)
	}
	v, err := decodeValue(p, elem, nil)
	return Named{nameOf(p), v}, err
}

// WriteTensor writes a *tensor.Dense or *dtype.Strings as a serialized TensorProto.
func WriteTensor(w io.Writer, n Named) error {
	p, err := encodeTensor(n.Name, n.Value)
	if err != nil {
		return err
	}
	return writeMessage(w, p)
}

// WriteValue writes a value of any kind; the reader must know the kind.
func WriteValue(w io.Writer, n Named) error {
	p, err := encodeValue(n.Name, n.Value)
	if err != nil {
		return err
	}
	return writeMessage(w, p)
}

// writeMessage writes p, the same bytes each time.
func writeMessage(w io.Writer, p proto.Message) error {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}
