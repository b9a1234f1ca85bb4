package kernel

import (
	"math"
	"strings"
	"unsafe"
)

// Plain are element types without pointers.
type Plain interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64 | ~complex128 | ~bool
}

// Uncleared returns n elements with arbitrary contents, whose capacity is n. Go clears what make returns, a large block at once: for a gigabyte that takes
// half a second in which nothing checks the context.
func Uncleared[E Plain](n int) []E {
	size := int(unsafe.Sizeof(*new(E)))
	if n < unclearedFrom/size || n > math.MaxInt/2/size {
		return make([]E, n)
	}
	var b strings.Builder // the only buffer of the standard library that is not cleared
	b.Grow(n * size)
	b.WriteByte(0)
	if Poison {
		for range n*size - 1 {
			b.WriteByte(0xff) // NaN, and the integer −1
		}
	}
	return unsafe.Slice((*E)(unsafe.Pointer(unsafe.StringData(b.String()))), n)
}

// Zeros returns n zero elements. Between two parts of a large block it checks whether p, which may be nil, is stopped.
func Zeros[E Plain](p *Pool, n int) []E {
	v := Uncleared[E](n)
	if len(v) >= unclearedFrom/int(unsafe.Sizeof(*new(E))) {
		Clear(p, v)
	}
	return v
}
