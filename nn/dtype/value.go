package dtype

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/chewxy/hm"
	"gorgonia.org/tensor"
)

// Value is an input or output of an operator: a *tensor.Dense, *Strings, *Sequence, *Optional or *Map. It has the methods
// of gorgonia.Value, so all of them can be values of Gorgonia nodes.
type Value interface {
	Shape() tensor.Shape // lengths of the axes
	Size() int           // number of elements
	Data() interface{}   // the elements
	Dtype() tensor.Dtype // type of the elements
	Uintptr() uintptr    // address of the elements
	MemSize() uintptr    // bytes
	fmt.Formatter
}

var _ = []Value{(*tensor.Dense)(nil), (*Strings)(nil), (*Sequence)(nil), (*Optional)(nil), (*Map)(nil)}

// Strings is a tensor of strings, in row-major order. A *tensor.Dense cannot hold strings, since it hides their pointers
// from the garbage collector.
type Strings struct {
	Dims  tensor.Shape // its shape
	Elems []string     // the elements, as many as the product of Dims
}

// NewStrings returns a tensor that shares elems; without a shape it has rank 0 and one element. It is an error if the
// number of elements does not fit the shape.
func NewStrings(elems []string, shape ...int) (*Strings, error) {
	n, err := Count(shape)
	if err != nil {
		return nil, err
	}
	if n != len(elems) {
		return nil, fmt.Errorf("shape %v takes %d strings, got %d", shape, n, len(elems))
	}
	return &Strings{Dims: append(tensor.Shape{}, shape...), Elems: elems}, nil
}

// Shape is s.Dims.
func (s *Strings) Shape() tensor.Shape { return s.Dims }

// Size returns the number of strings.
func (s *Strings) Size() int { return len(s.Elems) }

// Data is s.Elems.
func (s *Strings) Data() interface{} { return s.Elems }

// Dtype is tensor.String.
func (s *Strings) Dtype() tensor.Dtype { return tensor.String }

// Type returns the type for Gorgonia's type inference, that of a scalar.
func (s *Strings) Type() hm.Type { return s.Dtype() }

// Uintptr returns the address of the first string header, 0 without elements.
func (s *Strings) Uintptr() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(s.Elems))) }

// MemSize returns the bytes of the string headers.
func (s *Strings) MemSize() uintptr { return uintptr(len(s.Elems)) * unsafe.Sizeof("") }

// Format prints shape and strings.
func (s *Strings) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, "string%v%q", []int(s.Dims), s.Elems)
}

// Sequence is ONNX's sequence: a list of values of one type whose shapes may differ.
type Sequence struct {
	Elem  DType   // element type of the tensors; also set if there are none
	Items []Value // its values, in order
}

// Shape is that of a scalar: a sequence is one value.
func (s *Sequence) Shape() tensor.Shape { return tensor.ScalarShape() }

// Size is 1: a sequence is one value. See len(s.Items).
func (s *Sequence) Size() int { return 1 }

// Data is s.Items.
func (s *Sequence) Data() interface{} { return s.Items }

// Dtype returns a separate type, the same for all sequences.
func (s *Sequence) Dtype() tensor.Dtype { return tensor.Dtype{Type: reflect.TypeFor[Sequence]()} }

// Type returns the type for Gorgonia's type inference, that of a scalar.
func (s *Sequence) Type() hm.Type { return s.Dtype() }

// Uintptr returns the address of s.
func (s *Sequence) Uintptr() uintptr { return uintptr(unsafe.Pointer(s)) }

// MemSize is that of the items, added up.
func (s *Sequence) MemSize() (n uintptr) {
	for _, v := range s.Items {
		n += v.MemSize()
	}
	return n
}

// Format prints type and number of items, with 'v' and 's' the items too.
func (s *Sequence) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, "seq(%v)[%d]", s.Elem, len(s.Items))
	if verb == 'v' || verb == 's' {
		fmt.Fprintf(f, "%v", s.Items)
	}
}

// Optional is ONNX's optional: a value, or none.
type Optional struct {
	Elem DType // element type of the tensor, or of the tensors of the sequence; also set if there is no value
	Seq  bool  // it is an optional sequence rather than a tensor
	Item Value // nil: no value
}

// Shape is that of a scalar: an optional is one value.
func (o *Optional) Shape() tensor.Shape { return tensor.ScalarShape() }

// Size is 1: an optional is one value, also when it is empty.
func (o *Optional) Size() int { return 1 }

// Data is o.Item.
func (o *Optional) Data() interface{} { return o.Item }

// Dtype returns a separate type, the same for all optionals.
func (o *Optional) Dtype() tensor.Dtype { return tensor.Dtype{Type: reflect.TypeFor[Optional]()} }

// Type returns the type for Gorgonia's type inference, that of a scalar.
func (o *Optional) Type() hm.Type { return o.Dtype() }

// Uintptr returns the address of o.
func (o *Optional) Uintptr() uintptr { return uintptr(unsafe.Pointer(o)) }

// MemSize is that of the value, 0 without one.
func (o *Optional) MemSize() uintptr {
	if o.Item == nil {
		return 0
	}
	return o.Item.MemSize()
}

// Format prints the type and the value, if there is one.
func (o *Optional) Format(f fmt.State, verb rune) {
	if o.Item == nil {
		fmt.Fprintf(f, "optional(%v) none", o.Elem)
		return
	}
	fmt.Fprintf(f, "optional(%v) ", o.Elem)
	o.Item.Format(f, verb)
}

// SequenceType and OptionalType are the Dtypes of the two containers.
var (
	SequenceType = (*Sequence)(nil).Dtype()
	OptionalType = (*Optional)(nil).Dtype()
)
