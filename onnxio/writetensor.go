package onnxio

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// encodeParam encodes a parameter's tensor as in the file it was read from: with its documentation,
// and in the same field.
func encodeParam(name string, v dtype.Value, o *valueOrigin, typed bool) (*onnxpb.TensorProto, error) {
	t, err := encodeTensor(name, v)
	if err != nil || o.header == nil {
		return t, err
	}
	same := o.header.GetDataType() == t.GetDataType()
	h := &onnxpb.TensorProto{}
	copyFields(h, o.header)
	h.Dims, h.DataType, h.RawData, h.StringData = t.Dims, t.DataType, t.RawData, t.StringData
	if h.GetName() != name {
		h.Name = proto.String(name)
	}
	if d, ok := v.(*tensor.Dense); ok && typed && same {
		h.RawData = nil
		setTyped(h, d, dtype.DType(t.GetDataType()))
	}
	return h, nil
}

// setTyped stores elements in the field of p for their type: the inverse of copyTyped.
func setTyped(p *onnxpb.TensorProto, d *tensor.Dense, dt dtype.DType) {
	switch dt {
	case dtype.Float32:
		p.FloatData = append(p.FloatData, dtype.Slice[float32](d)...)
	case dtype.Float64:
		p.DoubleData = append(p.DoubleData, dtype.Slice[float64](d)...)
	case dtype.Int64:
		p.Int64Data = append(p.Int64Data, dtype.Slice[int64](d)...)
	case dtype.Uint64:
		p.Uint64Data = append(p.Uint64Data, dtype.Slice[uint64](d)...)
	case dtype.Uint32:
		for _, v := range dtype.Slice[uint32](d) {
			p.Uint64Data = append(p.Uint64Data, uint64(v))
		}
	case dtype.Complex64:
		for _, v := range dtype.Slice[complex64](d) {
			p.FloatData = append(p.FloatData, real(v), imag(v))
		}
	case dtype.Complex128:
		for _, v := range dtype.Slice[complex128](d) {
			p.DoubleData = append(p.DoubleData, real(v), imag(v))
		}
	case dtype.Int32:
		p.Int32Data = append(p.Int32Data, dtype.Slice[int32](d)...)
	default:
		p.Int32Data = int32s(d, dt)
	}
}

// int32s returns the elements of the types that share int32_data.
func int32s(d *tensor.Dense, dt dtype.DType) []int32 {
	b := dtype.Bytes(d)
	if dt.Bits() < 8 {
		b = pack(b, dt.Bits())
	}
	var list []int32
	for i := 0; i < len(b); i++ {
		switch {
		case dt == dtype.Int8:
			list = append(list, int32(int8(b[i])))
		case dt.Size() == 1:
			list = append(list, int32(b[i]))
		default:
			v := binary.NativeEndian.Uint16(b[i:])
			i++
			if dt == dtype.Int16 {
				list = append(list, int32(int16(v)))
			} else {
				list = append(list, int32(v))
			}
		}
	}
	return list
}

// encodeSparseAgain encodes a parameter that was sparse in the file: unchanged if its elements are unchanged.
func encodeSparseAgain(name string, d *tensor.Dense, o *valueOrigin) (*onnxpb.SparseTensorProto, error) {
	if name == o.name {
		old, err := decodeSparse(o.sparse, nil)
		if err == nil && d.Dtype() == old.Dtype() && slices.Equal(d.Shape(), old.Shape()) && bytes.Equal(dtype.Bytes(d), dtype.Bytes(old)) {
			return o.sparse, nil
		}
	}
	return encodeSparse(name, d)
}
