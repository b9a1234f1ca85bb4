package engine

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/nn/dtype"
)

// runForeign runs a step through Op.Do and copies the result into the arena.
func (s *step) runForeign() error {
	args := make([]gorgonia.Value, len(s.in))
	spoilt := -1
	if !readsOnly(s.op) {
		spoilt = s.op.OverwritesInput()
	}
	for i, v := range s.in {
		a, err := foreignArg(v, i == spoilt)
		if err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		args[i] = a
	}
	r, err := s.op.Do(args...)
	if err != nil {
		return err
	}
	if r == nil || reflect.ValueOf(r).Kind() == reflect.Pointer && reflect.ValueOf(r).IsNil() {
		return errors.New("the operation returned no value")
	}
	return s.out[0].store(r)
}

// readsOnly lists the operations of Gorgonia whose Do does not change its inputs although they declare that they
// overwrite one (which holds for UnsafeDo).
func readsOnly(op gorgonia.Op) bool {
	switch reflect.TypeOf(op).String() {
	case "gorgonia.elemBinOp", "gorgonia.elemUnaryOp", "gorgonia.sumOp", "gorgonia.maxOp", "*gorgonia.maxOp",
		"*gorgonia.repeatOp", "gorgonia.repeatOp", "gorgonia.sliceIncrOp", "gorgonia.reshapeOp":
		return true
	}
	return false
}

// foreignArg converts v to what Gorgonia's operations expect: rank 0 as a scalar, anything else with a tensor header
// of its own, because some of them temporarily transpose or reshape their inputs.
func foreignArg(v *value, clone bool) (gorgonia.Value, error) {
	d := v.dense
	switch {
	case v.kind == heap:
		return v.val, nil
	case v.kind == source && v.dense == nil:
		return v.val, nil // scalar, or a value of a foreign type
	case v.kind == placed && v.form != nil:
		d = v.form
	}
	if len(d.Shape()) == 0 {
		if f := toScalar(d); f != nil {
			return f, nil
		}
	}
	if clone {
		return dtype.Clone(d), nil
	}
	return d.ShallowClone(), nil
}

// store copies the result of a foreign operation to the memory of v.
func (v *value) store(r gorgonia.Value) error {
	if v.kind == heap {
		return v.hold(r)
	}
	d, ok := r.(*tensor.Dense)
	if !ok {
		if !setScalar(v.dense, r) {
			return fmt.Errorf("got a result of type %T, wanted %v%v", r, v.dtype, v.shape)
		}
		v.form = nil
		return nil
	}
	if d.Dtype() != v.dtype || int64(d.Shape().TotalSize())*int64(d.Dtype().Size()) != v.bytes {
		return fmt.Errorf("got a result of type %v%v, wanted %v%v", d.Dtype(), d.Shape(), v.dtype, v.shape)
	}
	if err := flatten(v.dense.Raw, d); err != nil {
		return err
	}
	if v.form == nil || !slices.Equal(v.form.Shape(), d.Shape()) {
		v.form = header(v.dtype, d.Shape(), v.dense.Raw)
	}
	return nil
}

// regular reports whether the elements of d are contiguous and row-major.
func regular(d *tensor.Dense) bool {
	o := d.DataOrder()
	return len(d.Raw) == d.Shape().TotalSize()*int(d.Dtype().Size()) && !o.IsColMajor() && !o.IsNotContiguous() && !o.IsTransposed()
}

var errMasked = errors.New("the tensor has a mask, which ONNX has not: tensor.Dense.Filled makes one without")

// RowMajor returns d, or a copy of it if its elements are not contiguous and row-major. A masked tensor is an error.
func RowMajor(d *tensor.Dense) (*tensor.Dense, error) {
	if d.IsMasked() && d.Shape().TotalSize() > 0 {
		return nil, errMasked
	}
	if !flat(d.Dtype()) || regular(d) {
		return d, nil
	}
	mem := alignedBytes(int64(d.Shape().TotalSize()) * int64(d.Dtype().Size()))
	return header(d.Dtype(), d.Shape(), mem), flatten(mem, d)
}

// hold stores a Go value made by Func or by a foreign operation.
func (v *value) hold(val gorgonia.Value) (err error) {
	v.val, v.dense = val, nil
	if d, ok := val.(*tensor.Dense); ok {
		v.dense, err = RowMajor(d)
	}
	return err
}

// flatten copies the elements of d in row-major order to dst.
func flatten(dst []byte, d *tensor.Dense) error {
	if regular(d) {
		copy(dst, d.Raw)
		return nil
	}
	shape, strides, size := d.Shape(), d.Strides(), int(d.Dtype().Size())
	if len(shape) == 0 {
		copy(dst, d.Raw[:size])
		return nil
	}
	if len(strides) != len(shape) {
		return fmt.Errorf("cannot read a tensor of shape %v with strides %v", shape, strides)
	}
	index := make([]int, len(shape))
	for at := 0; at < len(dst); at += size {
		off := 0
		for i, x := range index {
			off += x * strides[i]
		}
		copy(dst[at:at+size], d.Raw[off*size:])
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < shape[i] {
				break
			}
			index[i] = 0
		}
	}
	return nil
}

// toScalar returns the only element of d as Gorgonia's scalar, nil if it has none of that type.
func toScalar(d *tensor.Dense) gorgonia.Value {
	switch d.Dtype() {
	case tensor.Float64:
		return gorgonia.NewF64(dtype.Slice[float64](d)[0])
	case tensor.Float32:
		return gorgonia.NewF32(dtype.Slice[float32](d)[0])
	case tensor.Int:
		return gorgonia.NewI(dtype.Slice[int](d)[0])
	case tensor.Int64:
		return gorgonia.NewI64(dtype.Slice[int64](d)[0])
	case tensor.Int32:
		return gorgonia.NewI32(dtype.Slice[int32](d)[0])
	case tensor.Uint8:
		return gorgonia.NewU8(dtype.Slice[uint8](d)[0])
	case tensor.Bool:
		return gorgonia.NewB(dtype.Slice[bool](d)[0])
	}
	return nil
}

// setScalar sets the only element of d from Gorgonia's scalar v; it returns false if the types differ.
func setScalar(d *tensor.Dense, v gorgonia.Value) bool {
	if v.Dtype() != d.Dtype() || len(d.Raw) != int(d.Dtype().Size()) {
		return false
	}
	switch v := v.(type) {
	case *gorgonia.F64:
		dtype.Slice[float64](d)[0] = float64(*v)
	case *gorgonia.F32:
		dtype.Slice[float32](d)[0] = float32(*v)
	case *gorgonia.I:
		dtype.Slice[int](d)[0] = int(*v)
	case *gorgonia.I64:
		dtype.Slice[int64](d)[0] = int64(*v)
	case *gorgonia.I32:
		dtype.Slice[int32](d)[0] = int32(*v)
	case *gorgonia.U8:
		dtype.Slice[uint8](d)[0] = uint8(*v)
	case *gorgonia.B:
		dtype.Slice[bool](d)[0] = bool(*v)
	default:
		return false
	}
	return true
}

// isStatement reports whether op is one of Gorgonia's nodes without a value, which only its own machines use.
func isStatement(op gorgonia.Op) bool {
	if op == nil {
		return false
	}
	switch reflect.TypeOf(op).String() {
	case "gorgonia.readOp", "gorgonia.letOp":
		return true
	}
	return false
}
