package onnxio

import (
	"fmt"
	"io"
	"runtime"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"google.golang.org/protobuf/proto"
)

// NamedValue is a value with its name in a file.
type NamedValue struct {
	Name  string      // as in the file
	Value dtype.Value // a *tensor.Dense, or another value of package dtype
}

// ReadTensor reads a serialized TensorProto: a *tensor.Dense or a *dtype.Strings. The error is a *StrippedError if its
// data were stripped.
func ReadTensor(r io.Reader) (NamedValue, error) { return ReadValue(r, op.Type{}) }

// ReadValue reads a serialized value. The file does not say which kind of value it holds, so t is the declared type of
// the graph's input or output, of which only the kind and the element type are used; the zero Type means a tensor. A
// sparse tensor is converted to a dense one. An empty sequence or optional gets the element type of t.
func ReadValue(r io.Reader, t op.Type) (NamedValue, error) {
	var p proto.Message
	switch t.Kind {
	case op.Tensor:
		p = &onnxpb.TensorProto{}
	case op.Sparse:
		p = &onnxpb.SparseTensorProto{}
	case op.Sequence:
		p = &onnxpb.SequenceProto{}
	case op.Optional:
		p = &onnxpb.OptionalProto{}
	case op.Map:
		p = &onnxpb.MapProto{}
	default:
		return NamedValue{}, fmt.Errorf("reading a value of type %v is not supported", t)
	}
	if r == nil {
		return NamedValue{}, errNoReader
	}
	b, err := budget.ReadAll(r)
	if err != nil {
		return NamedValue{}, err
	}
	if err := chargeDecoded(b, p, &b); err != nil {
		return NamedValue{}, err
	}
	if err := proto.Unmarshal(b, p); err != nil {
		return NamedValue{}, fmt.Errorf("not a %s: %w", p.ProtoReflect().Descriptor().Name(), err)
	}
	for t.Elem != nil {
		t = *t.Elem
	}
	v, err := decodeValue(p, t.DType, nil)
	runtime.KeepAlive(&b)
	return NamedValue{nameOf(p), v}, err
}

// WriteTensor writes a *tensor.Dense or *dtype.Strings as a serialized TensorProto.
func WriteTensor(w io.Writer, n NamedValue) error {
	p, err := encodeTensor(n.Name, n.Value)
	if err != nil {
		return err
	}
	return writeMessage(w, p)
}

// WriteValue writes a value of any kind. The file does not say which kind it is: the reader has to know.
func WriteValue(w io.Writer, n NamedValue) error {
	p, err := encodeValue(n.Name, n.Value)
	if err != nil {
		return err
	}
	return writeMessage(w, p)
}

// writeMessage writes p deterministically.
func writeMessage(w io.Writer, p proto.Message) error {
	b, err := marshal(p)
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

// message is the content of a file: a message, or raw bytes.
type message struct {
	proto proto.Message
	bytes []byte
}

func (m message) write(w io.Writer) error {
	if model, ok := m.proto.(*onnxpb.ModelProto); ok {
		return writeModel(w, model)
	}
	if m.proto != nil {
		return writeMessage(w, m.proto)
	}
	_, err := w.Write(m.bytes)
	return err
}

// selfContained returns an error for a model with external data, which must stay in their folder.
func (m message) selfContained() error {
	model, ok := m.proto.(*onnxpb.ModelProto)
	if !ok {
		return nil
	}
	for _, t := range model.GetGraph().GetInitializer() {
		if _, stripped := parseStripped(t); !stripped && t.GetDataLocation() == onnxpb.TensorProto_EXTERNAL {
			return fmt.Errorf("tensor %q is stored in another file: the result must be in the same folder", t.GetName())
		}
	}
	return nil
}
