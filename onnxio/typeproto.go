package onnxio

import (
	"fmt"
	"strings"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"google.golang.org/protobuf/proto"
)

// decodeType decodes the declared type of a value. It returns the zero Type if there is no declaration.
func decodeType(p *onnxpb.TypeProto) (op.Type, error) { return decodeTypeAt(p, 0) }

func decodeTypeAt(p *onnxpb.TypeProto, depth int) (op.Type, error) {
	if depth > maxNesting {
		return op.Type{}, fmt.Errorf("a type is nested more than %d deep", maxNesting)
	}
	elem := func(kind op.Kind, p *onnxpb.TypeProto) (op.Type, error) {
		e, err := decodeTypeAt(p, depth+1)
		return op.Type{Kind: kind, Elem: &e}, err
	}
	switch v := p.GetValue().(type) {
	case *onnxpb.TypeProto_TensorType:
		return decodeTensorType(op.Tensor, v.TensorType.GetElemType(), v.TensorType.GetShape())
	case *onnxpb.TypeProto_SparseTensorType:
		return decodeTensorType(op.Sparse, v.SparseTensorType.GetElemType(), v.SparseTensorType.GetShape())
	case *onnxpb.TypeProto_SequenceType:
		return elem(op.Sequence, v.SequenceType.GetElemType())
	case *onnxpb.TypeProto_OptionalType:
		return elem(op.Optional, v.OptionalType.GetElemType())
	case *onnxpb.TypeProto_MapType:
		t, err := elem(op.Map, v.MapType.GetValueType())
		t.DType = dtype.DType(v.MapType.GetKeyType())
		if err == nil && !t.DType.IsInteger() && t.DType != dtype.String {
			err = fmt.Errorf("keys of a map are integers or strings, not %v", t.DType)
		}
		return t, err
	}
	return op.Type{Unranked: true}, nil
}

func decodeTensorType(kind op.Kind, elem int32, shape *onnxpb.TensorShapeProto) (op.Type, error) {
	t := op.Type{Kind: kind, DType: dtype.DType(elem), Unranked: shape == nil}
	if t.DType != dtype.Undefined && !t.DType.Valid() {
		return t, fmt.Errorf("unknown element type %d", elem)
	}
	if shape == nil {
		return t, nil
	}
	t.Shape = make([]op.Dim, len(shape.Dim))
	for i, d := range shape.Dim {
		t.Shape[i] = decodeDim(d)
	}
	return t, nil
}

// decodeDim decodes a dimension. Exporters write −1, "?" or "None" for an unknown one. A name that is
// not one of graft's expressions is unknown, too; saving keeps it.
func decodeDim(d *onnxpb.TensorShapeProto_Dimension) op.Dim {
	switch v := d.GetValue().(type) {
	case *onnxpb.TensorShapeProto_Dimension_DimValue:
		if v.DimValue >= 0 && int64(int(v.DimValue)) == v.DimValue {
			return op.D(int(v.DimValue))
		}
	case *onnxpb.TensorShapeProto_Dimension_DimParam:
		name := strings.TrimSpace(v.DimParam)
		if name == "" || name == "None" {
			return op.Unknown()
		}
		if dim, err := op.ParseDim(name); err == nil && !(dim.Known() && dim.Sym == "") {
			return dim
		}
	}
	return op.Unknown()
}

// encodeType is the inverse of decodeType. It returns nil for an unknown type.
func encodeType(t op.Type) *onnxpb.TypeProto {
	if !t.Present() {
		return nil
	}
	p := &onnxpb.TypeProto{}
	switch t.Kind {
	case op.Sequence:
		p.Value = &onnxpb.TypeProto_SequenceType{SequenceType: &onnxpb.TypeProto_Sequence{ElemType: encodeElem(t)}}
	case op.Optional:
		p.Value = &onnxpb.TypeProto_OptionalType{OptionalType: &onnxpb.TypeProto_Optional{ElemType: encodeElem(t)}}
	case op.Map:
		p.Value = &onnxpb.TypeProto_MapType{MapType: &onnxpb.TypeProto_Map{KeyType: proto.Int32(int32(t.DType)), ValueType: encodeElem(t)}}
	case op.Sparse:
		p.Value = &onnxpb.TypeProto_SparseTensorType{SparseTensorType: &onnxpb.TypeProto_SparseTensor{ElemType: proto.Int32(int32(t.DType)), Shape: encodeShape(t)}}
	default:
		p.Value = &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(int32(t.DType)), Shape: encodeShape(t)}}
	}
	return p
}

func encodeElem(t op.Type) *onnxpb.TypeProto {
	if t.Elem == nil {
		return &onnxpb.TypeProto{}
	}
	if p := encodeType(*t.Elem); p != nil {
		return p
	}
	return &onnxpb.TypeProto{}
}

func encodeShape(t op.Type) *onnxpb.TensorShapeProto {
	if t.Unranked {
		return nil
	}
	p := &onnxpb.TensorShapeProto{}
	for _, d := range t.Shape {
		p.Dim = append(p.Dim, encodeDim(d))
	}
	return p
}

// encodeDim encodes a symbol rather than its current size.
func encodeDim(d op.Dim) *onnxpb.TensorShapeProto_Dimension {
	switch {
	case d.Sym != "":
		return &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: d.Sym}}
	case d.Known():
		return &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: int64(d.Size)}}
	}
	return &onnxpb.TensorShapeProto_Dimension{}
}

// refineType returns the declaration p, corrected where t contradicts it: symbolic and open dimensions
// are kept, sizes that have changed are replaced. It returns p itself if nothing is corrected.
func refineType(p *onnxpb.TypeProto, t op.Type) *onnxpb.TypeProto {
	old, err := decodeType(p)
	if err != nil || !t.Present() {
		return p
	}
	if !old.Present() || old.Kind != t.Kind || old.DType != t.DType {
		return encodeType(t)
	}
	if t.Kind != op.Tensor || t.Unranked || old.Unranked {
		return p
	}
	if len(old.Shape) != len(t.Shape) {
		return encodeType(t)
	}
	q := p
	for i, d := range t.Shape {
		if !old.Shape[i].Known() || old.Shape[i].Same(d) && d.Sym == "" || !d.Known() && d.Sym == "" {
			continue
		}
		if q == p {
			q = proto.Clone(p).(*onnxpb.TypeProto)
		}
		dim := encodeDim(d)
		dim.Denotation = q.GetTensorType().GetShape().GetDim()[i].Denotation
		q.GetTensorType().Shape.Dim[i] = dim
	}
	return q
}
