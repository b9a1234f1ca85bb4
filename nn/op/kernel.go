package op

import (
	"context"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"gorgonia.org/tensor"
)

// Kernel computes the outputs of a call from its inputs. All tensors are contiguous and row-major, with the types
// that inference gave, rank 0 as shape (); an absent optional input is nil, an output that nobody reads is nil.
// The outputs are allocated, their elements uninitialized. A kernel leaves its inputs as they are, but for what
// Op.InPlace and Exec.MayOverwrite allow, and keeps no reference to its arguments. It may be called from
// several goroutines at once.
type Kernel func(x *Exec, out, in []*tensor.Dense) error

// Exec is what a running kernel is offered: threads, scratch memory, a cache of what it derives from weights, and
// the context of the run. nil works too: one thread, memory from the heap, no cache.
type Exec engine.Exec

// Context is that of the run, for kernels that take long or run programs of their own.
func (x *Exec) Context() context.Context { return (*engine.Exec)(x).Context() }

// Threads is the number of threads that Run and Range spread over, at least 1.
func (x *Exec) Threads() int { return pool(x).Threads() }

// Range splits [0, n) into contiguous ranges of at least grain elements, no more than there are threads, and calls
// f(lo, hi) for each, in parallel. It returns when all have. The ranges depend on n, grain and the number of
// threads alone; a grain is right where its elements take some ten microseconds.
func (x *Exec) Range(n, grain int, f func(lo, hi int)) { pool(x).Range(n, grain, f) }

// Run calls f for each task in [0, n), in parallel; worker, below Threads, is the same for tasks of one thread and
// no two threads at once, so that each can have scratch memory of its own. What a task computes must not depend on
// its worker.
func (x *Exec) Run(n int, f func(worker, task int)) { pool(x).Run(n, f) }

// Reserve charges bytes that a kernel takes from the heap to the budget of memory until release is called, or says that
// there are not as many left. Scratch memory is charged by itself.
func (x *Exec) Reserve(bytes int64) (release func(), err error) {
	return (*engine.Exec)(x).Reserve(bytes)
}

// Float32 returns n uninitialized float32s of scratch memory, 64-byte aligned, valid until the kernel returns. Like
// the other scratch methods it may be called from several goroutines of one kernel.
func (x *Exec) Float32(n int) []float32 { return (*engine.Exec)(x).Float32(n) }

// Float64 is Float32 for float64s.
func (x *Exec) Float64(n int) []float64 { return (*engine.Exec)(x).Float64(n) }

// Int is Float32 for ints.
func (x *Exec) Int(n int) []int { return (*engine.Exec)(x).Int(n) }

// Bytes is Float32 for bytes.
func (x *Exec) Bytes(n int) []byte { return (*engine.Exec)(x).Bytes(n) }

// MayOverwrite reports whether t is an input of the running kernel in memory of the program that nothing reads
// afterwards: the kernel may use the memory as scratch.
func (x *Exec) MayOverwrite(t *tensor.Dense) bool { return (*engine.Exec)(x).MayOverwrite(t) }

// Packed returns what pack makes of inputs of the running kernel, from a cache if it was made under the same key
// before and none of them has changed since: a weight in the order in which a product reads it, say. It returns nil
// where nothing may be cached, for values that are computed or fed, and the first time, since weights that change
// from step to step are not worth the memory: the kernel then reads the inputs themselves. The key must be
// comparable and tell apart what different kernels make of the first of the inputs.
func (x *Exec) Packed(key any, pack func() any, of ...*tensor.Dense) any {
	return (*engine.Exec)(x).Packed(key, pack, of...)
}

// pool is the worker pool of the run; nil: one thread.
func pool(x *Exec) *kernel.Pool { return (*engine.Exec)(x).Pool() }

// scratch adapts x to the scratch parameter of the functions in package kernel.
func scratch[T kernel.Float](x *Exec) func(n int) []T { return engine.Scratch[T]((*engine.Exec)(x)) }

// engine is the kernel as programs call it.
func (k Kernel) engine() engine.Kernel {
	if k == nil {
		return nil
	}
	return func(x *engine.Exec, out, in []*tensor.Dense) error { return k((*Exec)(x), out, in) }
}
