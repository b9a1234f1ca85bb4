package onnxio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// checkStored returns an error if weights cannot be stored in s.DType with the opset.
func (s Saver) checkStored(opset int) error {
	switch {
	case s.DType == dtype.Undefined:
		return nil
	case !slices.Contains(op.Floats(), s.DType):
		return fmt.Errorf("weights cannot be stored as %v: want one of %v", s.DType, op.Floats())
	case opset < max(6, op.TypeSince(s.DType)):
		return fmt.Errorf("weights of %v need operator set %d, the model has %d", s.DType, max(6, op.TypeSince(s.DType)), opset)
	}
	return nil
}

// stored writes a weight with elements of another type and a Cast back to its own, so that the model
// computes in the same type as before, with rounded weights. It returns false if v is not a weight, or
// already has the type.
func (s *graphWriter) stored(v *nn.Value) (bool, error) {
	p := s.param(v)
	if s.dtype == dtype.Undefined || p == nil || direct.Data(p) == nil || p.Role() != nn.Weight || v.IsInput() {
		return false, nil
	}
	own := dtype.Of(direct.Data(p).Dtype())
	if own == s.dtype || !slices.Contains(op.Floats(), own) {
		return false, nil
	}
	c := conversion{direct.Data(p), s.dtype}
	if err := c.fits(); err != nil {
		return false, err
	}
	name := s.free(s.name(v) + "/" + s.dtype.String())
	t := &onnxpb.TensorProto{Name: proto.String(name), DataType: proto.Int32(int32(s.dtype)), RawData: []byte{}}
	for _, d := range direct.Data(p).Shape() {
		t.Dims = append(t.Dims, int64(d))
	}
	if s.g == s.whole {
		s.inOtherType[t] = c
	} else {
		var b bytes.Buffer
		if err := c.write(&b); err != nil {
			return false, err
		}
		t.RawData = b.Bytes()
	}
	to, err := encodeAttribute("to", int64(own), nil)
	if err != nil {
		return false, err
	}
	back := &onnxpb.NodeProto{Name: proto.String(name + "/Cast"), OpType: proto.String("Cast"), Input: []string{name}, Output: []string{s.name(v)}, Attribute: []*onnxpb.AttributeProto{to}}
	s.p.Initializer = append(s.p.Initializer, t)
	s.first = append(s.first, back)
	return true, nil
}

// free returns a name that no value of the graph has.
func (s *graphWriter) free(base string) string {
	name := base
	for i := 1; ; i++ {
		if s.g.Lookup(name) == nil {
			return name
		}
		name = fmt.Sprintf("%s_%d", base, i)
	}
}

// fits returns an error if numbers become infinite by the conversion.
func (c conversion) fits() error {
	done := 0
	return c.blocks(func(d, narrow *tensor.Dense) error {
		defer func() { done += d.Shape().TotalSize() }()
		return fits(narrow, d, done)
	})
}

// fits returns an error if numbers of d, the elements from the given one on, are infinite in narrow.
func fits(narrow, d *tensor.Dense, from int) error {
	if !infinite(narrow) {
		return nil
	}
	a, err := dtype.Float64s(narrow)
	if err != nil {
		return err
	}
	b, err := dtype.Float64s(d)
	if err != nil {
		return err
	}
	for i := range a {
		if math.IsInf(a[i], 0) && !math.IsInf(b[i], 0) {
			return fmt.Errorf("element %d is %v, which is beyond the range of %v", from+i, b[i], dtype.Of(narrow.Dtype()))
		}
	}
	return nil
}

// infinite reports whether an element of d, whose type is one of op.Floats, is infinite.
func infinite(d *tensor.Dense) bool {
	bits := func(inf uint16) bool {
		for v := range slices.Chunk(dtype.Bytes(d), 2) {
			if binary.NativeEndian.Uint16(v)&0x7fff == inf {
				return true
			}
		}
		return false
	}
	switch dtype.Of(d.Dtype()) {
	case dtype.Float64:
		return slices.ContainsFunc(dtype.Slice[float64](d), func(v float64) bool { return math.IsInf(v, 0) })
	case dtype.Float32:
		return slices.ContainsFunc(dtype.Slice[float32](d), func(v float32) bool { return math.IsInf(float64(v), 0) })
	case dtype.Float16:
		return bits(0x7c00)
	}
	return bits(0x7f80)
}

// withoutStored removes weights that are now outputs of Casts from the inputs, among which old files list them.
func (s *graphWriter) withoutStored() error {
	cast := map[string]bool{}
	for _, n := range s.first {
		cast[n.Output[0]] = true
	}
	s.p.Input = slices.DeleteFunc(s.p.Input, func(info *onnxpb.ValueInfoProto) bool { return cast[info.GetName()] })
	return nil
}

// constantNode returns a Constant node with a tensor and its name. Readers train floating-point initializers but not outputs of
// nodes, unless all weights are in nodes; with fixed the node has the role Constant in its documentation.
func constantNode(t *onnxpb.TensorProto, fixed bool) *onnxpb.NodeProto {
	name := t.GetName()
	t = proto.Clone(t).(*onnxpb.TensorProto)
	t.Name = nil
	value := &onnxpb.AttributeProto{Name: proto.String("value"), T: t, Type: onnxpb.AttributeProto_TENSOR.Enum()}
	n := &onnxpb.NodeProto{Name: proto.String(name + "/Constant"), OpType: proto.String("Constant"), Output: []string{name}, Attribute: []*onnxpb.AttributeProto{value}}
	if fixed {
		n.DocString = markOf(nn.Constant)
	}
	return n
}
