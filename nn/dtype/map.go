package dtype

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/chewxy/hm"
	"gorgonia.org/tensor"
)

// Map is ONNX's map from integers or strings to numbers or strings. Use NewMap to make one.
type Map struct {
	Keys   Value // of rank 1, ascending: int64 or *Strings
	Values Value // of rank 1 and the same length: *tensor.Dense or *Strings
}

// NewMap returns a map with the given keys, which need not be sorted, and their values, both of rank 1. It is an error if
// their numbers differ, if the keys are neither strings nor integers, or if a key occurs twice.
func NewMap(keys, values Value) (*Map, error) {
	if keys == nil || values == nil {
		return nil, errors.New("a map takes keys and values, got nil")
	}
	if len(keys.Shape()) != 1 || len(values.Shape()) != 1 || keys.Shape()[0] != values.Shape()[0] {
		return nil, fmt.Errorf("a map takes as many keys as values, got %v and %v", keys.Shape(), values.Shape())
	}
	order := make([]int, keys.Shape()[0])
	for i := range order {
		order[i] = i
	}
	var compare func(i, j int) int
	switch k := keys.(type) {
	case *Strings:
		compare = func(i, j int) int { return cmp.Compare(k.Elems[i], k.Elems[j]) }
	case *tensor.Dense:
		n, err := Int64s(k)
		if err != nil || !DTypeOf(k).IsInteger() {
			return nil, fmt.Errorf("the keys of a map are integers or strings, not %v", DTypeOf(k))
		}
		if keys, err = FromSlice(n, len(n)); err != nil {
			return nil, err
		}
		compare = func(i, j int) int { return cmp.Compare(n[i], n[j]) }
	default:
		return nil, fmt.Errorf("the keys of a map are integers or strings, not a %T", keys)
	}
	slices.SortFunc(order, compare)
	for i := 1; i < len(order); i++ {
		if compare(order[i-1], order[i]) == 0 {
			return nil, fmt.Errorf("a key of the map occurs twice")
		}
	}
	k, err := pickFrom(keys, order)
	if err != nil {
		return nil, err
	}
	v, err := pickFrom(values, order)
	return &Map{k, v}, err
}

// pickFrom returns the elements of v, of rank 1, in another order.
func pickFrom(v Value, order []int) (Value, error) {
	switch v := v.(type) {
	case *Strings:
		s := make([]string, len(order))
		for i, k := range order {
			s[i] = v.Elems[k]
		}
		return NewStrings(s, len(s))
	case *tensor.Dense:
		d := New(Of(v.Dtype()), len(order))
		if len(order) > 0 {
			size := len(Bytes(v)) / len(order)
			for i, k := range order {
				copy(Bytes(d)[i*size:][:size], Bytes(v)[k*size:])
			}
		}
		return d, nil
	}
	return nil, fmt.Errorf("a map holds tensors, not a %T", v)
}

// Shape is that of a scalar: a map is one value.
func (m *Map) Shape() tensor.Shape { return tensor.ScalarShape() }

// Size is 1: a map is one value. Its entries are m.Keys.Size().
func (m *Map) Size() int { return 1 }

// Data is m.Values.
func (m *Map) Data() interface{} { return m.Values }

// Dtype returns a separate type, the same for all maps.
func (m *Map) Dtype() tensor.Dtype { return tensor.Dtype{Type: reflect.TypeFor[Map]()} }

// Type returns the type for Gorgonia's type inference, that of a scalar.
func (m *Map) Type() hm.Type { return m.Dtype() }

// Uintptr returns the address of m.
func (m *Map) Uintptr() uintptr { return uintptr(unsafe.Pointer(m)) }

// MemSize is that of keys and values.
func (m *Map) MemSize() uintptr {
	if m.Keys == nil || m.Values == nil {
		return 0
	}
	return m.Keys.MemSize() + m.Values.MemSize()
}

// Format prints keys and values.
func (m *Map) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, "map(%v,%v)%v%v", DTypeOf(m.Keys), DTypeOf(m.Values), m.Keys.Data(), m.Values.Data())
}

// MapType is the Dtype of maps.
var MapType = (*Map)(nil).Dtype()
