package kernel

import "sync"

// Packing buffers are kept between calls, because memory touched for the first
// time costs more than packing does. They hold nothing that anybody can observe.
var (
	buffers32 sync.Pool // of *[]float32
	buffers64 sync.Pool // of *[]float64
)

// borrow returns a buffer of at least n elements with arbitrary contents; give it
// back with giveBack.
func borrow[T Float](n int) *[]T {
	pool := &buffers64
	if single[T]() {
		pool = &buffers32
	}
	if b, ok := pool.Get().(*[]T); ok && len(*b) >= n {
		return b
	}
	b := make([]T, max(n, 1<<12))
	return &b
}

func giveBack[T Float](b *[]T) {
	if single[T]() {
		buffers32.Put(b)
	} else {
		buffers64.Put(b)
	}
}
