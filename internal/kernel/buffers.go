package kernel

import (
	"math/bits"
	"sync"
)

// Packing buffers are kept between calls, because memory touched for the first
// time costs more than packing does. They hold nothing that anybody can observe.
// Those of each order of magnitude are kept apart: a large one that served a small
// need would be missing where it is needed, and another be allocated.
var (
	buffers32 [bits.UintSize + 1]sync.Pool // of *[]float32, by the number of bits of their length
	buffers64 [bits.UintSize + 1]sync.Pool // of *[]float64
)

// smallestBuffer is how many elements a buffer has at least.
const smallestBuffer = 1 << 12

// buffers returns the pool of buffers of n elements.
func buffers[T Float](n int) *sync.Pool {
	order := bits.Len(uint(n))
	if IsFloat32[T]() {
		return &buffers32[order]
	}
	return &buffers64[order]
}

// Borrow returns a buffer of at least n elements with arbitrary contents; give it back with GiveBack. A buffer on the stack that a
// function value sees would be allocated anew each time.
func Borrow[T Float](n int) *[]T {
	n = max(n, smallestBuffer)
	if b, ok := buffers[T](n).Get().(*[]T); ok && len(*b) >= n {
		return b
	}
	b := make([]T, n)
	return &b
}

// GiveBack returns what Borrow gave.
func GiveBack[T Float](b *[]T) { buffers[T](len(*b)).Put(b) }
