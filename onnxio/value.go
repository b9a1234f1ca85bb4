package onnxio

import (
	"fmt"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// maxNesting limits the nesting of sequences and optionals.
const maxNesting = 64

// decodeSequence converts p to a value. An empty sequence gets the element type elem.
func decodeSequence(p *onnxpb.SequenceProto, elem dtype.DType, ext *externalFiles, depth int) (*dtype.Sequence, error) {
	fail := func(err error) (*dtype.Sequence, error) {
		return nil, fmt.Errorf("sequence %q: %w", p.GetName(), err)
	}
	if depth > maxNesting {
		return fail(fmt.Errorf("nested more than %d deep", maxNesting))
	}
	s := &dtype.Sequence{Elem: elem}
	left := nn.MemoryLeft() // a few bytes of sparse tensors may become any number of dense ones
	add := func(v dtype.Value, err error) error {
		if err != nil {
			return err
		}
		if left -= int64(v.MemSize()); left < 0 {
			return fmt.Errorf("its items: %w", budget.Full(int64(v.MemSize()), left+int64(v.MemSize())))
		}
		s.Items = append(s.Items, v)
		return nil
	}
	var err error
	switch kind := onnxpb.SequenceProto_DataType(p.GetElemType()); kind {
	case onnxpb.SequenceProto_UNDEFINED:
		if len(p.TensorValues)+len(p.SparseTensorValues)+len(p.SequenceValues)+len(p.OptionalValues)+len(p.MapValues) > 0 {
			err = fmt.Errorf("has values but no element type")
		}
	case onnxpb.SequenceProto_TENSOR:
		for i := 0; i < len(p.TensorValues) && err == nil; i++ {
			err = add(decodeTensor(p.TensorValues[i], ext))
		}
	case onnxpb.SequenceProto_SPARSE_TENSOR:
		for i := 0; i < len(p.SparseTensorValues) && err == nil; i++ {
			err = add(decodeSparse(p.SparseTensorValues[i], ext))
		}
	case onnxpb.SequenceProto_SEQUENCE:
		for i := 0; i < len(p.SequenceValues) && err == nil; i++ {
			err = add(decodeSequence(p.SequenceValues[i], elem, ext, depth+1))
		}
	case onnxpb.SequenceProto_MAP:
		for i := 0; i < len(p.MapValues) && err == nil; i++ {
			err = add(decodeMap(p.MapValues[i], ext))
		}
	case onnxpb.SequenceProto_OPTIONAL:
		for i := 0; i < len(p.OptionalValues) && err == nil; i++ {
			err = add(decodeOptional(p.OptionalValues[i], elem, ext, depth+1))
		}
	default:
		err = fmt.Errorf("items of kind %v are not supported", kind)
	}
	if err != nil {
		return fail(err)
	}
	for _, v := range s.Items {
		if s.Elem == dtype.Undefined {
			s.Elem = dtype.DTypeOf(v)
		}
	}
	return s, nil
}

// decodeOptional converts p to a value. An empty optional gets the element type elem.
func decodeOptional(p *onnxpb.OptionalProto, elem dtype.DType, ext *externalFiles, depth int) (*dtype.Optional, error) {
	fail := func(err error) (*dtype.Optional, error) {
		return nil, fmt.Errorf("optional %q: %w", p.GetName(), err)
	}
	if depth > maxNesting {
		return fail(fmt.Errorf("nested more than %d deep", maxNesting))
	}
	o := &dtype.Optional{Elem: elem, Seq: onnxpb.OptionalProto_DataType(p.GetElemType()) == onnxpb.OptionalProto_SEQUENCE}
	var v dtype.Value
	var err error
	switch {
	case p.TensorValue != nil:
		v, err = decodeTensor(p.TensorValue, ext)
	case p.SparseTensorValue != nil:
		v, err = decodeSparse(p.SparseTensorValue, ext)
	case p.SequenceValue != nil:
		o.Seq = true
		v, err = decodeSequence(p.SequenceValue, elem, ext, depth+1)
	case p.OptionalValue != nil:
		v, err = decodeOptional(p.OptionalValue, elem, ext, depth+1)
	case p.MapValue != nil:
		v, err = decodeMap(p.MapValue, ext)
	}
	if err != nil {
		return fail(err)
	}
	if o.Item = v; v != nil && o.Elem == dtype.Undefined {
		o.Elem = dtype.DTypeOf(v)
	}
	return o, nil
}

// decodeValue converts p, a message of any kind of value. elem is the declared element type for
// an empty sequence or optional, or Undefined.
func decodeValue(p proto.Message, elem dtype.DType, ext *externalFiles) (dtype.Value, error) {
	switch p := p.(type) {
	case *onnxpb.TensorProto:
		return decodeTensor(p, ext)
	case *onnxpb.SparseTensorProto:
		d, err := decodeSparse(p, ext)
		if err != nil {
			return nil, err
		}
		return d, nil
	case *onnxpb.SequenceProto:
		s, err := decodeSequence(p, elem, ext, 0)
		if err != nil {
			return nil, err
		}
		return s, nil
	case *onnxpb.MapProto:
		m, err := decodeMap(p, ext)
		if err != nil {
			return nil, err
		}
		return m, nil
	case *onnxpb.OptionalProto:
		o, err := decodeOptional(p, elem, ext, 0)
		if err != nil {
			return nil, err
		}
		return o, nil
	}
	return nil, fmt.Errorf("cannot read a value from a %T", p)
}

// encodeValue is the inverse of decodeValue; the type of v selects the type of the message.
func encodeValue(name string, v dtype.Value) (proto.Message, error) {
	switch v := v.(type) {
	case *dtype.Sequence:
		return encodeSequence(name, v)
	case *dtype.Optional:
		return encodeOptional(name, v)
	case *dtype.Map:
		return encodeMap(name, v)
	}
	return encodeTensor(name, v)
}

func encodeSequence(name string, s *dtype.Sequence) (*onnxpb.SequenceProto, error) {
	p := &onnxpb.SequenceProto{Name: proto.String(name), ElemType: proto.Int32(int32(onnxpb.SequenceProto_TENSOR))}
	for i, item := range s.Items {
		m, err := encodeValue("", item)
		if err != nil {
			return nil, fmt.Errorf("sequence %q: item %d: %w", name, i, err)
		}
		kind := onnxpb.SequenceProto_TENSOR
		switch m := m.(type) {
		case *onnxpb.TensorProto:
			m.Name = nil
			p.TensorValues = append(p.TensorValues, m)
		case *onnxpb.SequenceProto:
			kind = onnxpb.SequenceProto_SEQUENCE
			p.SequenceValues = append(p.SequenceValues, m)
		case *onnxpb.MapProto:
			kind = onnxpb.SequenceProto_MAP
			p.MapValues = append(p.MapValues, m)
		case *onnxpb.OptionalProto:
			kind = onnxpb.SequenceProto_OPTIONAL
			p.OptionalValues = append(p.OptionalValues, m)
		}
		if i > 0 && p.GetElemType() != int32(kind) {
			return nil, fmt.Errorf("sequence %q: items of different kinds", name)
		}
		p.ElemType = proto.Int32(int32(kind))
	}
	return p, nil
}

func encodeOptional(name string, o *dtype.Optional) (*onnxpb.OptionalProto, error) {
	p := &onnxpb.OptionalProto{Name: proto.String(name)}
	kind := onnxpb.OptionalProto_TENSOR
	if o.Seq {
		kind = onnxpb.OptionalProto_SEQUENCE
	}
	var err error
	switch v := o.Item.(type) {
	case nil:
	case *tensor.Dense, *dtype.Strings:
		p.TensorValue, err = encodeTensor("", v)
	case *dtype.Sequence:
		kind = onnxpb.OptionalProto_SEQUENCE
		p.SequenceValue, err = encodeSequence("", v)
	case *dtype.Map:
		kind = onnxpb.OptionalProto_MAP
		p.MapValue, err = encodeMap("", v)
	case *dtype.Optional:
		kind = onnxpb.OptionalProto_OPTIONAL
		p.OptionalValue, err = encodeOptional("", v)
	default:
		err = fmt.Errorf("holds a %T", v)
	}
	if err != nil {
		return nil, fmt.Errorf("optional %q: %w", name, err)
	}
	p.ElemType = proto.Int32(int32(kind))
	return p, nil
}
