package engine

import (
	"context"
	"sync/atomic"
	"unsafe"

	"github.com/graft-ml/graft/internal/kernel"
)

// cacheLine is the alignment, in bytes, of everything the engine allocates.
const cacheLine = 64

// Exec is what a running kernel is offered: the worker pool, scratch memory and the context of
// the run. The zero value and nil work too (no workers, scratch from the heap): that is how
// Op.Do calls a kernel on Gorgonia's own machines.
//
// Scratch memory comes uninitialised, is 64-byte aligned and valid until the kernel returns. It
// may be asked for from several goroutines of one kernel.
type Exec struct {
	ctx   context.Context
	pool  *kernel.Pool
	at    *step // the step that runs
	block []byte
	used  atomic.Int64 // bytes asked for since reset; beyond len(block) they came from the heap
}

// Pool returns the worker pool of the run; nil means serial.
func (x *Exec) Pool() *kernel.Pool {
	if x == nil {
		return nil
	}
	return x.pool
}

// Context returns the context of the run, for kernels that run programs of their own.
func (x *Exec) Context() context.Context {
	if x == nil || x.ctx == nil {
		return context.Background()
	}
	return x.ctx
}

// Float32 returns n uninitialised float32s.
func (x *Exec) Float32(n int) []float32 { return scratch[float32](x, n) }

// Float64 returns n uninitialised float64s.
func (x *Exec) Float64(n int) []float64 { return scratch[float64](x, n) }

// Int returns n uninitialised ints.
func (x *Exec) Int(n int) []int { return scratch[int](x, n) }

// Bytes returns n uninitialised bytes.
func (x *Exec) Bytes(n int) []byte { return scratch[byte](x, n) }

// Scratch adapts x to the scratch parameter of the functions in package kernel.
func Scratch[T kernel.Float](x *Exec) func(n int) []T {
	return func(n int) []T { return scratch[T](x, n) }
}

// scratch cuts n elements of the pointer-free type T from the block of x.
func scratch[T any](x *Exec, n int) []T {
	if n == 0 {
		return nil
	}
	if x == nil {
		return make([]T, n)
	}
	var zero T
	size := align(int64(n) * int64(unsafe.Sizeof(zero)))
	end := x.used.Add(size)
	if end > int64(len(x.block)) {
		return make([]T, n)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&x.block[end-size])), n)
}

// reset makes the whole block free again, larger if it was too small for the last kernel.
func (x *Exec) reset() {
	if used := x.used.Load(); used > int64(len(x.block)) {
		x.block = alignedBytes(used)
	}
	x.used.Store(0)
}

func align(n int64) int64 { return (n + cacheLine - 1) &^ (cacheLine - 1) }

// alignedBytes allocates n zeroed bytes that start on a cache line.
func alignedBytes(n int64) []byte {
	b := make([]byte, n+cacheLine)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (cacheLine - 1)
	return b[skip : int64(skip)+n : int64(skip)+n]
}
