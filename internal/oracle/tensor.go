package oracle

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Tensor is a value as oracles exchange it. Data is row-major and little-endian; a bool is one byte. Strings takes its
// place where DType is "string".
type Tensor struct {
	DType   string   `json:"dtype"` // ONNX's name in lower case: float32, float16, int64, bool, string, …
	Shape   []int    `json:"shape"`
	Data    []byte   `json:"data,omitempty"`
	Strings []string `json:"strings,omitempty"`
}

// Pack makes a tensor of a slice of fixed-size numbers or bools; its DType is the Go name of the element type.
func Pack[T any](data []T, shape ...int) (Tensor, error) {
	raw, err := binary.Append(nil, binary.LittleEndian, data)
	if err != nil {
		return Tensor{}, fmt.Errorf("oracle: %w", err)
	}
	var zero T
	return Tensor{DType: fmt.Sprintf("%T", zero), Shape: append([]int{}, shape...), Data: raw}, nil
}

// Size returns the number of elements.
func (t Tensor) Size() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Float64s converts the elements to float64; false and true become 0 and 1. 64-bit integers are rounded.
func (t Tensor) Float64s() ([]float64, error) {
	width, ok := widths[t.DType]
	if !ok {
		return nil, fmt.Errorf("oracle: %s elements are not numbers", t.DType)
	}
	if len(t.Data) != width*t.Size() {
		return nil, fmt.Errorf("oracle: %s%v of %d bytes", t.DType, t.Shape, len(t.Data))
	}
	out := make([]float64, t.Size())
	for i := range out {
		out[i] = element(t.DType, t.Data[i*width:])
	}
	return out, nil
}

var widths = map[string]int{
	"float16": 2, "float32": 4, "float64": 8, "bool": 1,
	"int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
}

func element(dtype string, b []byte) float64 {
	le := binary.LittleEndian
	switch dtype {
	case "float16":
		return half(le.Uint16(b))
	case "float32":
		return float64(math.Float32frombits(le.Uint32(b)))
	case "float64":
		return math.Float64frombits(le.Uint64(b))
	case "int8":
		return float64(int8(b[0]))
	case "int16":
		return float64(int16(le.Uint16(b)))
	case "int32":
		return float64(int32(le.Uint32(b)))
	case "int64":
		return float64(int64(le.Uint64(b)))
	case "uint16":
		return float64(le.Uint16(b))
	case "uint32":
		return float64(le.Uint32(b))
	case "uint64":
		return float64(le.Uint64(b))
	}
	return float64(b[0]) // uint8, bool
}

// half decodes an IEEE 754 binary16 number.
func half(h uint16) float64 {
	sign := 1 - 2*float64(h>>15)
	exp, frac := int(h>>10&31), float64(h&1023)
	switch exp {
	case 0:
		return sign * math.Ldexp(frac, -24)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}

// Close reports as an error where got differs from want: in type, in shape, or in an element by more than
// atol + rtol·|want|. NaN equals NaN. The error names the worst element.
func Close(got, want Tensor, rtol, atol float64) error {
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return fmt.Errorf("got %s%v, want %s%v", got.DType, got.Shape, want.DType, want.Shape)
	}
	if want.DType == "string" {
		if !slices.Equal(got.Strings, want.Strings) {
			return fmt.Errorf("got %q, want %q", got.Strings, want.Strings)
		}
		return nil
	}
	g, err := got.Float64s()
	if err != nil {
		return err
	}
	w, err := want.Float64s()
	if err != nil {
		return err
	}
	worst, at := 0.0, -1
	for i := range w {
		if g[i] == w[i] || math.IsNaN(g[i]) && math.IsNaN(w[i]) {
			continue
		}
		over := math.Abs(g[i]-w[i]) / (atol + rtol*math.Abs(w[i]))
		if !(over <= 1) && (at < 0 || over > worst) {
			worst, at = over, i
		}
	}
	if at >= 0 {
		return fmt.Errorf("element %d is %.6g, want %.6g: %.3g times the tolerance", at, g[at], w[at], worst)
	}
	return nil
}
