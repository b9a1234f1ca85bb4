package kernel

import "unsafe"

// Float is the set of element types that the arithmetic kernels accept.
type Float interface{ ~float32 | ~float64 }

// Scratch hands out n elements of uninitialised memory that stay valid until the
// kernel returns. A nil Scratch allocates.
type Scratch[T Float] = func(n int) []T

// take gets n elements from scratch, or from the heap where there is none.
func take[T Float](scratch Scratch[T], n int) []T {
	if scratch == nil {
		return make([]T, n)
	}
	return scratch(n)
}

// single tells float32 from float64; the compiler folds it per instantiation.
func single[T Float]() bool {
	var z T
	return unsafe.Sizeof(z) == 4
}

// as32 views s as []float32; only where single[T]() holds.
func as32[T Float](s []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

// as32i views s as []int32.
func as32i(s []float32) []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

// pointer32 views p as *float32; only where single[T]() holds.
func pointer32[T Float](p *T) *float32 { return (*float32)(unsafe.Pointer(p)) }

func cdiv(a, b int) int { return (a + b - 1) / b }

// vectorizable tells whether the assembly applies, and that x is as long as dst, not empty.
func vectorizable[T Float](dst, x []T) bool {
	return has(vectorGroup) && single[T]() && len(dst) > 0 && len(x) >= len(dst)
}
