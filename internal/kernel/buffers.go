package kernel

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/graft-ml/graft/internal/budget"
)

// Packing buffers are kept between calls, because memory touched for the first
// time costs more than packing. Their contents are not observable. There is a pool
// for each power of two: otherwise a large buffer might be used for a small request,
// and another large one be allocated.
var (
	buffers32 [bits.UintSize + 1]sync.Pool // of *[]float32, by the number of bits of their length
	buffers64 [bits.UintSize + 1]sync.Pool // of *[]float64
)

// smallestBuffer is the minimum number of elements of a buffer.
const smallestBuffer = 1 << 12

// chargedFrom is the number of bytes from which a buffer is charged to the budget, for as long as it is reachable.
const chargedFrom = 1 << 20

// Committing is how many runs update parameters at the moment: meanwhile Borrow does not fail, because a step must not end halfway.
var Committing atomic.Int32

// buffers returns the pool of buffers of n elements.
func buffers[T Float](n int) *sync.Pool {
	order := bits.Len(uint(n))
	if IsFloat32[T]() {
		return &buffers32[order]
	}
	return &buffers64[order]
}

// Borrow returns a buffer of at least n elements with arbitrary contents, to be returned with GiveBack. In contrast, a local array
// that is passed to a function value is allocated on the heap each time. It panics with the budget's error if a large one does not fit.
func Borrow[T Float](n int) *[]T {
	n = max(n, smallestBuffer)
	if b, ok := buffers[T](n).Get().(*[]T); ok && len(*b) >= n {
		return b
	}
	size := int64(n) * int64(unsafe.Sizeof(*new(T)))
	if size < chargedFrom {
		b := Uncleared[T](n)
		return &b
	}
	b, err := budget.Filled(n, Uncleared[T])
	if err != nil {
		if Committing.Load() == 0 {
			panic(err)
		}
		b = Uncleared[T](n)
		budget.Count(unsafe.SliceData(b), size)
	}
	return &b
}

// GiveBack returns a buffer from Borrow to its pool.
func GiveBack[T Float](b *[]T) { buffers[T](len(*b)).Put(b) }
