package dtype

import (
	"fmt"
	"reflect"
	"strings"

	"gorgonia.org/tensor"
)

// DType is an element type. The numbers are those of ONNX's TensorProto.DataType.
type DType int32

// The element types of ONNX.
const (
	Undefined      DType = 0
	Float32        DType = 1
	Uint8          DType = 2
	Int8           DType = 3
	Uint16         DType = 4
	Int16          DType = 5
	Int32          DType = 6
	Int64          DType = 7
	String         DType = 8
	Bool           DType = 9
	Float16        DType = 10
	Float64        DType = 11
	Uint32         DType = 12
	Uint64         DType = 13
	Complex64      DType = 14
	Complex128     DType = 15
	BFloat16       DType = 16
	Float8E4M3FN   DType = 17
	Float8E4M3FNUZ DType = 18
	Float8E5M2     DType = 19
	Float8E5M2FNUZ DType = 20
	Uint4          DType = 21
	Int4           DType = 22
	Float4E2M1     DType = 23
	Float8E8M0     DType = 24
	Uint2          DType = 25
	Int2           DType = 26
)

type class uint8

const (
	other class = iota
	float
	signed
	unsigned
	complexes
)

// row describes one element type; the table is indexed by DType.
type row struct {
	name string
	typ  reflect.Type
	bits int
	class
}

var table = [...]row{
	Undefined:      {"undefined", nil, 0, other},
	Float32:        {"float32", reflect.TypeFor[float32](), 32, float},
	Uint8:          {"uint8", reflect.TypeFor[uint8](), 8, unsigned},
	Int8:           {"int8", reflect.TypeFor[int8](), 8, signed},
	Uint16:         {"uint16", reflect.TypeFor[uint16](), 16, unsigned},
	Int16:          {"int16", reflect.TypeFor[int16](), 16, signed},
	Int32:          {"int32", reflect.TypeFor[int32](), 32, signed},
	Int64:          {"int64", reflect.TypeFor[int64](), 64, signed},
	String:         {"string", reflect.TypeFor[string](), 0, other},
	Bool:           {"bool", reflect.TypeFor[bool](), 8, other},
	Float16:        {"float16", reflect.TypeFor[F16](), 16, float},
	Float64:        {"float64", reflect.TypeFor[float64](), 64, float},
	Uint32:         {"uint32", reflect.TypeFor[uint32](), 32, unsigned},
	Uint64:         {"uint64", reflect.TypeFor[uint64](), 64, unsigned},
	Complex64:      {"complex64", reflect.TypeFor[complex64](), 64, complexes},
	Complex128:     {"complex128", reflect.TypeFor[complex128](), 128, complexes},
	BFloat16:       {"bfloat16", reflect.TypeFor[BF16](), 16, float},
	Float8E4M3FN:   {"float8e4m3fn", reflect.TypeFor[F8E4M3FN](), 8, float},
	Float8E4M3FNUZ: {"float8e4m3fnuz", reflect.TypeFor[F8E4M3FNUZ](), 8, float},
	Float8E5M2:     {"float8e5m2", reflect.TypeFor[F8E5M2](), 8, float},
	Float8E5M2FNUZ: {"float8e5m2fnuz", reflect.TypeFor[F8E5M2FNUZ](), 8, float},
	Uint4:          {"uint4", reflect.TypeFor[U4](), 4, unsigned},
	Int4:           {"int4", reflect.TypeFor[I4](), 4, signed},
	Float4E2M1:     {"float4e2m1", reflect.TypeFor[F4E2M1](), 4, float},
	Float8E8M0:     {"float8e8m0", reflect.TypeFor[F8E8M0](), 8, float},
	Uint2:          {"uint2", reflect.TypeFor[U2](), 2, unsigned},
	Int2:           {"int2", reflect.TypeFor[I2](), 2, signed},
}

func (d DType) row() row {
	if d < 0 || int(d) >= len(table) {
		return row{}
	}
	return table[d]
}

// All returns every element type except Undefined, in ONNX's order.
func All() []DType {
	all := make([]DType, 0, len(table)-1)
	for d := range table[1:] {
		all = append(all, DType(d+1))
	}
	return all
}

// Valid reports whether d is a known element type other than Undefined.
func (d DType) Valid() bool { return d > 0 && int(d) < len(table) }

// String returns the name of the type: "float32", "int64", "bfloat16", "float8e4m3fn", "int4".
func (d DType) String() string {
	if name := d.row().name; name != "" {
		return name
	}
	return fmt.Sprintf("dtype(%d)", int32(d))
}

// ONNX returns the name in ONNX's type strings, such as "float" and "double" for String's "float32" and "float64".
func (d DType) ONNX() string {
	switch d {
	case Float32:
		return "float"
	case Float64:
		return "double"
	}
	return d.String()
}

// Parse returns the inverse of DType.String. It also accepts ONNX's names, such as "double", "DOUBLE" and "tensor(double)".
func Parse(s string) (DType, error) {
	name := strings.ToLower(strings.TrimSpace(s))
	if inner, ok := strings.CutPrefix(name, "tensor("); ok {
		name = strings.TrimSuffix(inner, ")")
	}
	switch name {
	case "float":
		return Float32, nil
	case "double":
		return Float64, nil
	}
	for _, d := range All() {
		if table[d].name == name {
			return d, nil
		}
	}
	return Undefined, fmt.Errorf("unknown element type %q", s)
}

// Size returns the number of bytes of an element in memory, where every element is a Go value; 0 for Undefined.
func (d DType) Size() int {
	if t := d.row().typ; t != nil {
		return int(t.Size())
	}
	return 0
}

// Bits returns the number of bits of an element in a file, 4 for Int4; 0 for String and Undefined.
func (d DType) Bits() int { return d.row().bits }

// IsFloat reports whether d is a real floating-point type, of any width.
func (d DType) IsFloat() bool { return d.row().class == float }

// IsInteger reports whether d is an integer type, which Bool is not.
func (d DType) IsInteger() bool { return d.IsSigned() || d.IsUnsigned() }

// IsSigned reports whether d is a signed integer type.
func (d DType) IsSigned() bool { return d.row().class == signed }

// IsUnsigned reports whether d is an unsigned integer type, which Bool is not.
func (d DType) IsUnsigned() bool { return d.row().class == unsigned }

// IsComplex reports whether d is Complex64 or Complex128.
func (d DType) IsComplex() bool { return d.row().class == complexes }

// IsNumeric reports whether d is an integer or a real floating-point type.
func (d DType) IsNumeric() bool { return d.IsFloat() || d.IsInteger() }

// Tensor returns the Go type of an element: tensor.Float32 for Float32, the type F16 for Float16; the zero tensor.Dtype
// for Undefined.
func (d DType) Tensor() tensor.Dtype { return tensor.Dtype{Type: d.row().typ} }

// Of returns the inverse of DType.Tensor. It returns Undefined for Go types that ONNX lacks, such as int.
func Of(t tensor.Dtype) DType {
	switch t {
	case tensor.Float32:
		return Float32
	case tensor.Float64:
		return Float64
	case tensor.Int64:
		return Int64
	}
	if t.Type == nil {
		return Undefined
	}
	for d := range table {
		if table[d].typ == t.Type {
			return DType(d)
		}
	}
	return Undefined
}

// TypeOf returns the element type whose elements have the Go type T, Undefined if there is none.
func TypeOf[T any]() DType { return Of(tensor.Dtype{Type: reflect.TypeFor[T]()}) }
