package onnxio

import (
	"fmt"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// tensorType returns the declared element type and shape of p, without reading its data, which may be
// stripped.
func tensorType(p *onnxpb.TensorProto) (dtype.DType, []int, error) {
	dt := dtype.DType(p.GetDataType())
	if !dt.Valid() {
		return 0, nil, tensorError(p, "unknown element type %d", p.GetDataType())
	}
	shape, err := intDims(p.GetDims())
	if err != nil {
		return 0, nil, tensorError(p, "%w", err)
	}
	if in := dataFields(p); len(in) > 1 {
		return 0, nil, tensorError(p, "data are in two fields, %s and %s", in[0], in[1])
	}
	return dt, shape, nil
}

// dataFields lists the fields of p that have data.
func dataFields(p *onnxpb.TensorProto) (list []string) {
	for _, f := range []struct {
		name  string
		count int
	}{
		{"raw_data", len(p.RawData)}, {"float_data", len(p.FloatData)}, {"int32_data", len(p.Int32Data)}, {"string_data", len(p.StringData)},
		{"int64_data", len(p.Int64Data)}, {"double_data", len(p.DoubleData)}, {"uint64_data", len(p.Uint64Data)},
	} {
		if f.count > 0 {
			list = append(list, f.name)
		}
	}
	return list
}

// intDims converts dimensions; it returns an error if their product is not a valid tensor size.
func intDims(dims []int64) ([]int, error) {
	shape := make([]int, len(dims))
	for i, d := range dims {
		shape[i] = int(d)
		if int64(shape[i]) != d {
			return nil, fmt.Errorf("dimension %d is too large", d)
		}
	}
	_, err := dtype.Count(shape)
	return shape, err
}

func tensorError(p *onnxpb.TensorProto, format string, args ...any) error {
	return fmt.Errorf("tensor %q: %w", p.GetName(), fmt.Errorf(format, args...))
}

// decodeTensor returns a *tensor.Dense or, for strings, a *dtype.Strings that shares no memory with
// p. Data in other files are read from ext; if it is nil, such a tensor is an error. The declared
// shape is compared with the size of the data before memory is allocated.
func decodeTensor(p *onnxpb.TensorProto, ext *externalFiles) (dtype.Value, error) {
	dt, shape, err := tensorType(p)
	if err != nil {
		return nil, err
	}
	n, err := dtype.Count(shape)
	if err != nil {
		return nil, tensorError(p, "%w", err)
	}
	if p.Segment != nil {
		return nil, tensorError(p, "stored in segments, which is not supported")
	}
	if p.GetDataLocation() == onnxpb.TensorProto_EXTERNAL {
		return decodeExternal(p, dt, shape, n, ext)
	}
	if dt == dtype.String {
		return decodeStrings(p, shape, n)
	}
	if len(p.RawData) > 0 || n == 0 {
		if err := checkBytes(dt, n, int64(len(p.RawData))); err != nil {
			return nil, tensorError(p, "%w", err)
		}
		d := dtype.New(dt, shape...)
		copyRaw(d, dt, p.RawData)
		return d, nil
	}
	if have, want := typedLen(p, dt), typedWant(dt, n); have != want {
		return nil, tensorError(p, "shape %v of %v takes %d stored numbers, found %d", shape, dt, want, have)
	}
	if err := checkTyped(dt, p); err != nil {
		return nil, tensorError(p, "%w", err)
	}
	d := dtype.New(dt, shape...)
	copyTyped(d, dt, p)
	return d, nil
}

func decodeStrings(p *onnxpb.TensorProto, shape []int, n int) (dtype.Value, error) {
	if len(p.StringData) != n {
		return nil, tensorError(p, "shape %v takes %d strings, found %d", shape, n, len(p.StringData))
	}
	elems := make([]string, n)
	for i, s := range p.StringData {
		elems[i] = string(s)
	}
	return dtype.NewStrings(elems, shape...)
}

// encodeTensor is the inverse of decodeTensor. Elements are stored in raw_data, strings in string_data.
func encodeTensor(name string, v dtype.Value) (*onnxpb.TensorProto, error) {
	if v == nil {
		return nil, fmt.Errorf("value %q is nil", name)
	}
	p := &onnxpb.TensorProto{Name: proto.String(name)}
	for _, d := range v.Shape() {
		p.Dims = append(p.Dims, int64(d))
	}
	switch v := v.(type) {
	case *dtype.Strings:
		p.DataType = proto.Int32(int32(dtype.String))
		for _, s := range v.Elems {
			p.StringData = append(p.StringData, []byte(s))
		}
	case *tensor.Dense:
		dt := dtype.Of(v.Dtype())
		if dt == dtype.Undefined || dt == dtype.String {
			return nil, tensorError(p, "ONNX has no tensors of Go's %v", v.Dtype().Type)
		}
		p.DataType = proto.Int32(int32(dt))
		p.RawData = rawData(v, dt)
	default:
		return nil, tensorError(p, "a %T is not a tensor", v)
	}
	return p, nil
}
