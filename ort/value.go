//go:build linux || darwin || windows

package ort

import (
	"fmt"
	"unsafe"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// value is one of the library's values, and the memory of Go that it reads, if it does.
type value struct {
	lib  *library
	p    handle
	over []byte
}

// Release frees the value. It may be called again.
func (v *value) Release() {
	if v != nil && v.p != 0 {
		v.lib.releaseValue(v.p)
		v.p, v.over = 0, nil
	}
}

// The library's codes of kinds of values.
const (
	isTensor   = 1
	isSequence = 2
	isMap      = 3
)

// enter makes a value of one of ours. A tensor of numbers is not copied.
func (l *library) enter(v dtype.Value) (*value, error) {
	switch v := v.(type) {
	case *tensor.Dense:
		return l.enterDense(v)
	case *dtype.Strings:
		out := &value{lib: l}
		shape := dims(v.Dims)
		if err := l.err("strings", l.createTensor(l.alloc, first(shape), uintptr(len(shape)), int32(dtype.String), &out.p)); err != nil {
			return nil, err
		}
		for i, s := range v.Elems {
			if err := l.err("strings", l.fillString(out.p, s, uintptr(i))); err != nil {
				out.Release()
				return nil, err
			}
		}
		return out, nil
	case *dtype.Sequence:
		return l.compose(isSequence, v.Items...)
	case *dtype.Map:
		return l.compose(isMap, v.Keys, v.Values)
	case *dtype.Optional:
		if v.Item != nil {
			return l.enter(v.Item)
		}
	}
	return nil, fmt.Errorf("ort: a %T without a value cannot be passed to ONNX Runtime", v)
}

func (l *library) enterDense(d *tensor.Dense) (*value, error) {
	t := dtype.Of(d.Dtype())
	if t > dtype.Uint8 && t.Bits() < 8 || t > dtype.Float8E5M2FNUZ {
		return nil, fmt.Errorf("ort: %v is stored in another layout in ONNX Runtime: convert the values to another type", t)
	}
	b, shape := dtype.Bytes(d), dims(d.Shape())
	out := &value{lib: l, over: b}
	return out, l.err("tensor", l.createTensorOver(l.cpu, unsafe.Pointer(first(b)), uintptr(len(b)), first(shape), uintptr(len(shape)), int32(t), &out.p))
}

// compose makes a sequence or a map, which take ownership of their items.
func (l *library) compose(kind int32, items ...dtype.Value) (*value, error) {
	var parts []handle
	var list []*value
	defer func() {
		for _, v := range list {
			v.Release()
		}
	}()
	for _, x := range items {
		v, err := l.enter(x)
		if err != nil {
			return nil, err
		}
		list, parts = append(list, v), append(parts, v.p)
	}
	out := &value{lib: l}
	return out, l.err("value", l.createValue(first(parts), uintptr(len(parts)), kind, &out.p))
}

// leave copies a value that is in the CPU's memory.
func (l *library) leave(p handle) (dtype.Value, error) {
	var there, kind int32
	if err := l.err("value", l.hasValue(p, &there)); err != nil {
		return nil, err
	}
	if there == 0 {
		return &dtype.Optional{}, nil
	}
	if err := l.err("value", l.valueType(p, &kind)); err != nil {
		return nil, err
	}
	switch kind {
	case isTensor:
		return l.leaveTensor(p)
	case isSequence, isMap:
		parts, err := l.parts(p)
		if err != nil {
			return nil, err
		}
		if kind == isMap && len(parts) == 2 {
			return dtype.NewMap(parts[0], parts[1])
		}
		s := &dtype.Sequence{Items: parts}
		if len(parts) > 0 {
			s.Elem = dtype.DTypeOf(parts[0])
		}
		return s, nil
	}
	return nil, fmt.Errorf("ort: an output is neither a tensor nor a sequence nor a map")
}

func (l *library) parts(p handle) ([]dtype.Value, error) {
	var n uintptr
	if err := l.err("value", l.valueCount(p, &n)); err != nil {
		return nil, err
	}
	list := make([]dtype.Value, n)
	for i := range list {
		part := &value{lib: l}
		err := l.err("value", l.getValue(p, int32(i), l.alloc, &part.p))
		if err == nil {
			list[i], err = l.leave(part.p)
		}
		part.Release()
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (l *library) leaveTensor(p handle) (dtype.Value, error) {
	t, shape, err := l.typeOf(p)
	if err != nil {
		return nil, err
	}
	n, err := dtype.Count(shape)
	if err != nil {
		return nil, fmt.Errorf("ort: %w", err)
	}
	if t == dtype.String {
		elems := make([]string, n)
		for i := range elems {
			var size uintptr
			if err := l.err("strings", l.stringLength(p, uintptr(i), &size)); err != nil {
				return nil, err
			}
			b := make([]byte, size+1)
			if err := l.err("strings", l.stringElement(p, size, uintptr(i), unsafe.Pointer(&b[0]))); err != nil {
				return nil, err
			}
			elems[i] = string(b[:size])
		}
		return dtype.NewStrings(elems, shape...)
	}
	if !t.Valid() || t > dtype.Float8E5M2FNUZ {
		return nil, fmt.Errorf("ort: a value has element type %d, which is not supported", t)
	}
	d := dtype.New(t, shape...)
	var at unsafe.Pointer
	if err := l.err("tensor", l.tensorData(p, &at)); err != nil {
		return nil, err
	}
	if b := dtype.Bytes(d); len(b) > 0 {
		copy(b, unsafe.Slice((*byte)(at), len(b)))
	}
	return d, nil
}

// typeOf returns the element type and the shape of a tensor.
func (l *library) typeOf(p handle) (dtype.DType, []int, error) {
	var info handle
	if err := l.err("tensor", l.tensorInfo(p, &info)); err != nil {
		return 0, nil, err
	}
	defer l.releaseInfo(info)
	var t int32
	var rank uintptr
	if err := l.err("tensor", l.elementType(info, &t)); err != nil {
		return 0, nil, err
	}
	if err := l.err("tensor", l.rank(info, &rank)); err != nil {
		return 0, nil, err
	}
	sizes := make([]int64, rank)
	if err := l.err("tensor", l.dims(info, first(sizes), rank)); err != nil {
		return 0, nil, err
	}
	shape := make([]int, rank)
	for i, n := range sizes {
		shape[i] = int(n)
	}
	return dtype.DType(t), shape, nil
}

func dims(shape []int) []int64 {
	list := make([]int64, len(shape))
	for i, n := range shape {
		list[i] = int64(n)
	}
	return list
}

// first is where a list begins, of an empty one somewhere.
func first[T any](list []T) *T {
	if len(list) == 0 {
		return new(T)
	}
	return &list[0]
}
