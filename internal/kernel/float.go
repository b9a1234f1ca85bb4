package kernel

import "unsafe"

// Float is the set of element types that the arithmetic kernels accept.
type Float interface{ ~float32 | ~float64 }

// Scratch returns n elements of uninitialised memory that stay valid until the
// kernel returns. A nil Scratch allocates.
type Scratch[T Float] = func(n int) []T

// Take returns n elements from scratch, or from the heap if scratch is nil.
func Take[T Float](scratch Scratch[T], n int) []T {
	if scratch == nil {
		return Uncleared[T](n)
	}
	return scratch(n)
}

// IsFloat32 reports whether T is float32; it is constant in each instantiation.
func IsFloat32[T Float]() bool {
	var z T
	return unsafe.Sizeof(z) == 4
}

// Float32s views s as []float32; only where single[T]() holds.
func Float32s[T Float](s []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

// Int32s views s as []int32.
func Int32s(s []float32) []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

// Float32Pointer views p as *float32; only where single[T]() holds.
func Float32Pointer[T Float](p *T) *float32 { return (*float32)(unsafe.Pointer(p)) }

func CeilDiv(a, b int) int { return (a + b - 1) / b }

// Vectorizable reports whether the assembly applies, and that x is as long as dst, not empty.
func Vectorizable[T Float](dst, x []T) bool {
	return Has(VectorGroup) && IsFloat32[T]() && len(dst) > 0 && len(x) >= len(dst)
}
