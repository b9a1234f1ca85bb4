package dtype

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"unsafe"

	"gorgonia.org/tensor"
)

// Count returns the number of elements of a shape, 1 for rank 0. It is an error if a dimension is negative or the number
// does not fit an int.
func Count(shape []int) (int, error) {
	n, over, empty := uint64(1), false, false
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", shape)
		}
		empty = empty || d == 0
		hi, lo := bits.Mul64(n, uint64(d))
		over = over || hi != 0 || lo > math.MaxInt
		n = lo
	}
	if empty {
		return 0, nil
	}
	if over {
		return 0, fmt.Errorf("shape %v has too many elements", shape)
	}
	return int(n), nil
}

// New returns a tensor of zeros; without a shape it has rank 0. It panics for Undefined, for String, and for a shape that
// Count refuses: check shapes that come from outside first.
func New(dt DType, shape ...int) *tensor.Dense {
	n, err := Count(shape)
	if err != nil {
		panic("dtype.New: " + err.Error())
	}
	if !dt.Valid() || dt == String {
		panic("dtype.New: no tensor of " + dt.String())
	}
	return dense(makeSlice(dt, n), shape)
}

// makeSlice allocates []T. Allocating with the right type, unlike tensor.New, keeps every element
// aligned and does not touch the tensor package's global list of types.
func makeSlice(dt DType, n int) any {
	switch dt {
	case Float32:
		return make([]float32, n)
	case Float64:
		return make([]float64, n)
	case Int64:
		return make([]int64, n)
	case Bool:
		return make([]bool, n)
	}
	return reflect.MakeSlice(reflect.SliceOf(table[dt].typ), n, n).Interface()
}

// dense wraps a slice of as many elements as shape has.
func dense(backing any, shape []int) *tensor.Dense {
	return tensor.New(tensor.WithBacking(backing), tensor.WithShape(shape...))
}

// FromSlice returns a tensor that shares data; without a shape it has rank 0 and one element. It is an error if T is not
// the Go type of an element type, if T is string (see Strings), or if the number of elements does not fit the shape.
func FromSlice[T any](data []T, shape ...int) (*tensor.Dense, error) {
	dt := TypeOf[T]()
	if dt == Undefined || dt == String {
		return nil, fmt.Errorf("no tensor holds elements of Go type %v", reflect.TypeFor[T]())
	}
	n, err := Count(shape)
	if err != nil {
		return nil, err
	}
	if n != len(data) {
		return nil, fmt.Errorf("shape %v takes %d elements, got %d", shape, n, len(data))
	}
	if data == nil { // the tensor package takes nil for "allocate"
		data = []T{}
	}
	return dense(data, shape), nil
}

// Scalar returns a tensor of rank 0. It panics if T is not the Go type of an element type.
func Scalar[T any](v T) *tensor.Dense {
	d, err := FromSlice([]T{v})
	if err != nil {
		panic("dtype.Scalar: " + err.Error())
	}
	return d
}

var errNil = errors.New("dtype: the tensor is nil")

// Slice returns the elements of d in row-major order, without copying or allocating. It panics if d is nil or not
// contiguous, or T is not the type of its elements; ToSlice returns an error instead.
func Slice[T any](d *tensor.Dense) []T {
	if d == nil {
		panic(errNil)
	}
	if d.Dtype().Type != reflect.TypeFor[T]() {
		panic(fmt.Sprintf("dtype.Slice: tensor of %v, not of %v", d.Dtype().Type, reflect.TypeFor[T]()))
	}
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(d.Raw))), rawLen(d)/int(unsafe.Sizeof(zero)))
}

// ToSlice is Slice that returns an error if d is nil or not contiguous, or T is not the type of its elements.
func ToSlice[T any](d *tensor.Dense) ([]T, error) {
	if d == nil {
		return nil, errNil
	}
	if got, want := Of(d.Dtype()), TypeOf[T](); got != want {
		return nil, fmt.Errorf("dtype: a tensor of %v, want %v", got, want)
	}
	if o := d.DataOrder(); o.IsColMajor() || o.IsNotContiguous() || o.IsTransposed() {
		return nil, fmt.Errorf("dtype: the tensor of shape %v is not contiguous", d.Shape())
	}
	return Slice[T](d), nil
}

// Bytes returns the memory of d without copying: Size bytes for each element, in the machine's byte order. It panics if d
// is nil or not contiguous.
func Bytes(d *tensor.Dense) []byte { return d.Raw[:rawLen(d)] }

// rawLen checks that d is contiguous and row-major and returns its length in bytes.
func rawLen(d *tensor.Dense) int {
	if d == nil {
		panic(errNil)
	}
	n := len(d.Raw)
	o := d.DataOrder()
	if want := d.Shape().TotalSize() * int(d.Dtype().Size()); n != want || o.IsColMajor() || o.IsNotContiguous() || o.IsTransposed() {
		panic(fmt.Sprintf("dtype: tensor of shape %v is not contiguous (%d bytes, wanted %d)", d.Shape(), n, want))
	}
	return n
}

// DTypeOf returns the element type of v; of a Sequence, an Optional or a Map, that of its items.
func DTypeOf(v Value) DType {
	switch v := v.(type) {
	case nil:
		return Undefined
	case *Sequence:
		return v.Elem
	case *Optional:
		return v.Elem
	case *Map:
		return DTypeOf(v.Values)
	}
	return Of(v.Dtype())
}

// View returns a tensor of another shape that shares the memory of d. It is an error if the numbers of elements differ.
func View(d *tensor.Dense, shape ...int) (*tensor.Dense, error) {
	if d == nil {
		return nil, errNil
	}
	n, err := Count(shape)
	if err != nil {
		return nil, err
	}
	if have := rawLen(d) / int(d.Dtype().Size()); have != n {
		return nil, fmt.Errorf("cannot view a tensor of shape %v as %v: %d elements, not %d", d.Shape(), shape, have, n)
	}
	p := unsafe.Pointer(unsafe.SliceData(d.Raw))
	return dense(reflect.SliceAt(d.Dtype().Type, p, n).Interface(), shape), nil
}

// Rows returns the elements from (inclusive) to to (exclusive) along the first axis, sharing the memory of d. It is an
// error if they do not exist or d is not contiguous.
func Rows(d *tensor.Dense, from, to int) (*tensor.Dense, error) {
	if d == nil {
		return nil, errNil
	}
	shape := slices.Clone([]int(d.Shape()))
	if len(shape) == 0 || from < 0 || to < from || to > shape[0] {
		return nil, fmt.Errorf("a tensor of shape %v has no rows %d to %d", shape, from, to)
	}
	if o := d.DataOrder(); len(d.Raw) != d.Shape().TotalSize()*int(d.Dtype().Size()) || o.IsColMajor() || o.IsNotContiguous() || o.IsTransposed() {
		return nil, fmt.Errorf("the tensor of shape %v is not contiguous", shape)
	}
	row := rawLen(d) / max(1, shape[0])
	shape[0] = to - from
	b := d.Raw[from*row : to*row]
	n := len(b) / int(d.Dtype().Size())
	return dense(reflect.SliceAt(d.Dtype().Type, unsafe.Pointer(unsafe.SliceData(b)), n).Interface(), shape), nil
}

// Pick returns a copy of d with the given indices of an axis, in that order; −1 stands for zeros. It panics if d is nil
// or does not have the axis or an index.
func Pick(d *tensor.Dense, axis int, keep []int) *tensor.Dense {
	if d == nil {
		panic(errNil)
	}
	shape := slices.Clone([]int(d.Shape()))
	outer, inner := 1, int(d.Dtype().Size())
	for i, n := range shape {
		switch {
		case i < axis:
			outer *= n
		case i > axis:
			inner *= n
		}
	}
	n := shape[axis]
	shape[axis] = len(keep)
	out := New(Of(d.Dtype()), shape...)
	src, dst := Bytes(d), Bytes(out)
	for o := range outer {
		for i, k := range keep {
			if k >= 0 {
				copy(dst[(o*len(keep)+i)*inner:][:inner], src[(o*n+k)*inner:][:inner])
			}
		}
	}
	return out
}

// Clone returns a copy of d and its elements.
func Clone(d *tensor.Dense) *tensor.Dense {
	n := rawLen(d) / int(d.Dtype().Size())
	s := reflect.MakeSlice(reflect.SliceOf(d.Dtype().Type), n, n)
	c := dense(s.Interface(), d.Shape())
	copy(c.Raw, d.Raw)
	return c
}
