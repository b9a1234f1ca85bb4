package onnxio

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// Sparse tensors are converted to dense ones, so that a few bytes may require any amount of memory. A tensor
// of more than sparseFree bytes must not be larger than sparseRatio times its data in the file.
const (
	sparseFree  = 64 << 20
	sparseRatio = 4096
)

// decodeSparse converts p to a dense tensor, which is zero where p has no value.
func decodeSparse(p *onnxpb.SparseTensorProto, ext *externalFiles) (*tensor.Dense, error) {
	if p == nil || p.Values == nil {
		return nil, errors.New("the sparse tensor has no values")
	}
	fail := func(format string, args ...any) (*tensor.Dense, error) {
		return nil, fmt.Errorf("sparse tensor %q: %w", p.GetValues().GetName(), fmt.Errorf(format, args...))
	}
	shape, err := intDims(p.Dims)
	if err != nil {
		return fail("%w", err)
	}
	value, err := decodeTensor(p.GetValues(), ext)
	if err != nil {
		return fail("values: %w", err)
	}
	values, ok := value.(*tensor.Dense)
	if !ok || values.Shape().Dims() != 1 {
		return fail("values of shape %v and type %v, wanted numbers in one dimension", value.Shape(), value.Dtype())
	}
	at, err := sparseIndices(p, shape, values.Shape()[0], ext)
	if err != nil {
		return fail("%w", err)
	}
	dt := dtype.Of(values.Dtype())
	width := dt.Size()
	n, _ := dtype.Count(shape) // intDims has checked it
	if n > sparseFree/width && n/sparseRatio > len(at)+1 {
		return fail("shape %v is too large for %d values", shape, len(at))
	}
	d := dtype.New(dt, shape...)
	dst, src := dtype.Bytes(d), dtype.Bytes(values)
	sorted := slices.Sorted(slices.Values(at))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return fail("has two values for element %d", sorted[i])
		}
	}
	for i, at := range at {
		copy(dst[at*width:(at+1)*width], src[i*width:])
	}
	return d, nil
}

// sparseIndices returns the linear indices of the values, checked to be inside the shape.
func sparseIndices(p *onnxpb.SparseTensorProto, shape []int, values int, ext *externalFiles) ([]int, error) {
	if len(p.GetIndices().GetDims()) == 0 && values == 0 {
		return nil, nil // ONNX's own writer omits empty indices
	}
	value, err := decodeTensor(p.GetIndices(), ext)
	if err != nil {
		return nil, fmt.Errorf("indices: %w", err)
	}
	rank, form := len(shape), value.Shape()
	linear := len(form) == 1 && form[0] == values
	if dtype.Of(value.Dtype()) != dtype.Int64 || !linear && !(len(form) == 2 && form[0] == values && form[1] == rank) {
		return nil, fmt.Errorf("indices of type %v and shape %v, wanted int64 [%d] or [%d %d]", value.Dtype(), form, values, values, rank)
	}
	n, err := dtype.Count(shape)
	if err != nil {
		return nil, err
	}
	indices := dtype.Slice[int64](value.(*tensor.Dense))
	at := make([]int, values)
	for i := range at {
		if linear {
			at[i] = int(indices[i])
			if indices[i] < 0 || indices[i] >= int64(n) {
				return nil, fmt.Errorf("index %d is outside of shape %v", indices[i], shape)
			}
			continue
		}
		for axis, x := range indices[i*rank : (i+1)*rank] {
			if x < 0 || x >= int64(shape[axis]) {
				return nil, fmt.Errorf("index %v is outside of shape %v", indices[i*rank:(i+1)*rank], shape)
			}
			at[i] = at[i]*shape[axis] + int(x)
		}
	}
	return at, nil
}

// encodeSparse stores the elements of d that are not zero, with linear indices.
func encodeSparse(name string, d *tensor.Dense) (*onnxpb.SparseTensorProto, error) {
	width := max(dtype.Of(d.Dtype()).Size(), 1)
	src := dtype.Bytes(d)
	var indices []int64
	for i := 0; i < len(src); i += width {
		for _, b := range src[i : i+width] {
			if b != 0 {
				indices = append(indices, int64(i/width))
				break
			}
		}
	}
	values := dtype.New(dtype.Of(d.Dtype()), len(indices))
	for i, at := range indices {
		copy(dtype.Bytes(values)[i*width:(i+1)*width], src[int(at)*width:])
	}
	at, err := dtype.FromSlice(indices, len(indices))
	if err != nil {
		return nil, err
	}
	p := &onnxpb.SparseTensorProto{}
	if p.Values, err = encodeTensor(name, values); err != nil {
		return nil, err
	}
	if p.Indices, err = encodeTensor("", at); err != nil {
		return nil, err
	}
	p.Indices.Name = nil
	for _, n := range d.Shape() {
		p.Dims = append(p.Dims, int64(n))
	}
	return p, nil
}

// nameOf returns the name of a message that has one.
func nameOf(p proto.Message) string {
	switch p := p.(type) {
	case interface{ GetName() string }:
		return p.GetName()
	case *onnxpb.SparseTensorProto:
		return p.GetValues().GetName()
	}
	return ""
}
