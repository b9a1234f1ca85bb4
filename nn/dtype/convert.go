package dtype

import (
	"fmt"
	"math"

	"github.com/graft-ml/graft/internal/budget"
	"gorgonia.org/tensor"
)

// Cast converts elements to another type. The zero value has the defaults of ONNX's Cast.
type Cast struct {
	NoSaturate bool     // for 8-bit floats: too large numbers become infinity or NaN instead of the largest value
	Round      Rounding // for Float8E8M0
}

// Convert is Cast{}.Convert.
func Convert(dst, src *tensor.Dense) error { return Cast{}.Convert(dst, src) }

// ConvertTo returns src converted to another element type: a new tensor, or src itself if it has that type.
func ConvertTo(dt DType, src *tensor.Dense) (*tensor.Dense, error) {
	if src == nil {
		return nil, errNil
	}
	if Of(src.Dtype()) == dt {
		return src, nil
	}
	if !dt.Valid() || dt == String {
		return nil, fmt.Errorf("cannot convert a tensor to %v", dt)
	}
	dst := New(dt, src.Shape()...)
	return dst, Convert(dst, src)
}

// chunk is the number of elements converted through float64 or int64 at a time: small enough for the stack.
const chunk = 256

// Convert sets the elements of dst to those of src, converted by the rules of ONNX's Cast: floating-point numbers are
// truncated to integers, integers lose their high bits in narrower types, floating-point numbers are rounded to nearest
// even, and all numbers except 0 are true. A floating-point number outside the range of int64 or uint64 becomes the
// nearest end of that range and NaN becomes 0; ONNX leaves both undefined. The numbers of elements must be equal. Complex
// numbers can only be converted to complex numbers.
func (c Cast) Convert(dst, src *tensor.Dense) error {
	if dst == nil || src == nil {
		return errNil
	}
	from, to := Of(src.Dtype()), Of(dst.Dtype())
	n := dst.Shape().TotalSize()
	if m := src.Shape().TotalSize(); m != n {
		return fmt.Errorf("cannot convert %d elements of shape %v into %d of shape %v", m, src.Shape(), n, dst.Shape())
	}
	numbers := (from.IsNumeric() || from == Bool) && (to.IsNumeric() || to == Bool)
	switch {
	case from == to && from != Undefined:
		copy(Bytes(dst), Bytes(src))
	case direct(dst, src, to, from):
	case !numbers:
		return fmt.Errorf("cannot convert %v (%v) to %v (%v)", from, src.Dtype().Type, to, dst.Dtype().Type)
	case from.IsFloat():
		var buf [chunk]float64
		for i := 0; i < n; i += chunk {
			b := buf[:min(chunk, n-i)]
			loadFloats(b, from, src, i)
			c.storeFloats(dst, to, i, b)
		}
	default:
		var buf [chunk]int64
		for i := 0; i < n; i += chunk {
			b := buf[:min(chunk, n-i)]
			loadInts(b, from, src, i)
			c.storeInts(dst, to, i, b, from == Uint64)
		}
	}
	return nil
}

// Float64s returns a copy of the elements of d, which must hold numbers or booleans. It is charged to the memory budget before it is made.
func Float64s(d *tensor.Dense) ([]float64, error) { return elements[float64](Float64, d) }

// Int64s returns a copy of the elements of d, which must hold numbers or booleans. It is charged to the memory budget before it is made.
func Int64s(d *tensor.Dense) ([]int64, error) { return elements[int64](Int64, d) }

func elements[T any](t DType, d *tensor.Dense) (list []T, err error) {
	if d == nil {
		return nil, errNil
	}
	n, err := Count(d.Shape())
	if err != nil {
		return nil, err
	}
	var dst *tensor.Dense
	list, err = budget.Filled(n, func(int) []T {
		dst = New(t, d.Shape()...)
		return Slice[T](dst)
	})
	if err != nil {
		return nil, fmt.Errorf("%d elements as %v: %w", n, t, err)
	}
	return list, Convert(dst, d)
}

type integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

type small interface{ Float32() float32 }

func loadFloats(b []float64, from DType, src *tensor.Dense, at int) {
	switch from {
	case Float64:
		copy(b, Slice[float64](src)[at:])
	case Float32:
		s := Slice[float32](src)[at:]
		for i := range b {
			b[i] = float64(s[i])
		}
	case Float16:
		loadSmall[F16](b, src, at)
	case BFloat16:
		loadSmall[BF16](b, src, at)
	case Float8E4M3FN:
		loadSmall[F8E4M3FN](b, src, at)
	case Float8E4M3FNUZ:
		loadSmall[F8E4M3FNUZ](b, src, at)
	case Float8E5M2:
		loadSmall[F8E5M2](b, src, at)
	case Float8E5M2FNUZ:
		loadSmall[F8E5M2FNUZ](b, src, at)
	case Float8E8M0:
		loadSmall[F8E8M0](b, src, at)
	case Float4E2M1:
		loadSmall[F4E2M1](b, src, at)
	}
}

func loadSmall[T small](b []float64, src *tensor.Dense, at int) {
	s := Slice[T](src)[at:]
	for i := range b {
		b[i] = float64(s[i].Float32())
	}
}

func loadInts(b []int64, from DType, src *tensor.Dense, at int) {
	switch from {
	case Bool:
		s := Slice[bool](src)[at:]
		for i := range b {
			b[i] = 0
			if s[i] {
				b[i] = 1
			}
		}
	case Int8:
		loadInt[int8](b, src, at)
	case Int16:
		loadInt[int16](b, src, at)
	case Int32:
		loadInt[int32](b, src, at)
	case Int64:
		loadInt[int64](b, src, at)
	case Uint8:
		loadInt[uint8](b, src, at)
	case Uint16:
		loadInt[uint16](b, src, at)
	case Uint32:
		loadInt[uint32](b, src, at)
	case Uint64:
		loadInt[uint64](b, src, at)
	case Int4:
		loadInt[I4](b, src, at)
	case Uint4:
		loadInt[U4](b, src, at)
	case Int2:
		loadInt[I2](b, src, at)
	case Uint2:
		loadInt[U2](b, src, at)
	}
}

func loadInt[T integer](b []int64, src *tensor.Dense, at int) {
	s := Slice[T](src)[at:]
	for i := range b {
		b[i] = int64(s[i])
	}
}

// storeInts writes integers; those of a uint64 come as the int64 with the same bits.
func (c Cast) storeInts(dst *tensor.Dense, to DType, at int, b []int64, wide bool) {
	if to.IsFloat() {
		var f [chunk]float64
		for i, v := range b {
			f[i] = float64(v)
			if wide {
				f[i] = float64(uint64(v))
			}
		}
		c.storeFloats(dst, to, at, f[:len(b)])
		return
	}
	switch to {
	case Bool:
		s := Slice[bool](dst)[at:]
		for i, v := range b {
			s[i] = v != 0
		}
	case Int8:
		storeInt[int8](dst, at, b)
	case Int16:
		storeInt[int16](dst, at, b)
	case Int32:
		storeInt[int32](dst, at, b)
	case Int64:
		storeInt[int64](dst, at, b)
	case Uint8:
		storeInt[uint8](dst, at, b)
	case Uint16:
		storeInt[uint16](dst, at, b)
	case Uint32:
		storeInt[uint32](dst, at, b)
	case Uint64:
		storeInt[uint64](dst, at, b)
	case Int4:
		storeWith(dst, at, b, i4From)
	case Uint4:
		storeWith(dst, at, b, u4From)
	case Int2:
		storeWith(dst, at, b, i2From)
	case Uint2:
		storeWith(dst, at, b, u2From)
	}
}

func storeInt[T integer](dst *tensor.Dense, at int, b []int64) {
	s := Slice[T](dst)[at:]
	for i, v := range b {
		s[i] = T(v)
	}
}

func storeWith[T, S any](dst *tensor.Dense, at int, b []S, f func(S) T) {
	s := Slice[T](dst)[at:]
	for i, v := range b {
		s[i] = f(v)
	}
}

func (c Cast) storeFloats(dst *tensor.Dense, to DType, at int, b []float64) {
	sat := !c.NoSaturate
	switch to {
	case Float64:
		copy(Slice[float64](dst)[at:], b)
	case Float32:
		s := Slice[float32](dst)[at:]
		for i, v := range b {
			s[i] = float32(v)
		}
	case Float16:
		storeWith(dst, at, b, func(v float64) F16 { return F16(e5m10.encode(v, false)) })
	case BFloat16:
		storeWith(dst, at, b, func(v float64) BF16 { return BF16(e8m7.encode(v, false)) })
	case Float8E4M3FN:
		storeWith(dst, at, b, func(v float64) F8E4M3FN { return F8E4M3FN(e4m3fn.encode(v, sat)) })
	case Float8E4M3FNUZ:
		storeWith(dst, at, b, func(v float64) F8E4M3FNUZ { return F8E4M3FNUZ(e4m3fnuz.encode(v, sat)) })
	case Float8E5M2:
		storeWith(dst, at, b, func(v float64) F8E5M2 { return F8E5M2(e5m2.encode(v, sat)) })
	case Float8E5M2FNUZ:
		storeWith(dst, at, b, func(v float64) F8E5M2FNUZ { return F8E5M2FNUZ(e5m2fnuz.encode(v, sat)) })
	case Float8E8M0:
		storeWith(dst, at, b, func(v float64) F8E8M0 { return f8e8m0From(float32(v), sat, c.Round) })
	case Float4E2M1:
		storeWith(dst, at, b, func(v float64) F4E2M1 { return F4E2M1(e2m1.encode(v, true)) })
	case Bool:
		storeWith(dst, at, b, func(v float64) bool { return v != 0 })
	case Uint64:
		storeWith(dst, at, b, truncateUnsigned)
	default:
		var n [chunk]int64
		for i, v := range b {
			if to.Bits() < 8 {
				v = math.RoundToEven(v)
			}
			n[i] = Truncate(v)
		}
		c.storeInts(dst, to, at, n[:len(b)], false)
	}
}

// Truncate removes the fraction, as Convert does. A number out of range becomes the nearest int64, and NaN 0; Go leaves
// the result of such conversions undefined.
func Truncate(v float64) int64 {
	switch {
	case v != v:
		return 0
	case v >= 1<<63:
		return math.MaxInt64
	case v < -1<<63:
		return math.MinInt64
	}
	return int64(v)
}

func truncateUnsigned(v float64) uint64 {
	switch {
	case v < 0:
		return uint64(Truncate(v))
	case v >= 1<<64:
		return math.MaxUint64
	case v != v:
		return 0
	}
	return uint64(v)
}
