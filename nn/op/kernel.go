package op

import (
	"context"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"gorgonia.org/tensor"
)

// Kernel computes the outputs of a call from its inputs. All tensors are contiguous and row-major, with the types that
// inference returned; rank 0 has shape (). An optional input that is absent and an output that nothing reads are nil.
// Outputs are allocated, with undefined elements. A kernel must not change its inputs, except as Scheduling.InPlace and
// Exec.MayOverwrite allow, and must not keep references to its arguments. It may be called by several goroutines at once.
type Kernel func(x *Exec, out, in []*tensor.Dense) error

// Exec provides a running kernel with threads, scratch memory, a cache of what it derives from weights, and the context
// of the run. A nil Exec works too: one thread, memory from the heap, no cache.
type Exec engine.Exec

// Context returns the context of the run, for kernels that take long or run programs of their own.
func (x *Exec) Context() context.Context { return (*engine.Exec)(x).Context() }

// Threads returns the number of threads that Run and Range use, at least 1.
func (x *Exec) Threads() int { return pool(x).Threads() }

// Range splits [0, n) into contiguous ranges of at least grain elements, at most one for each thread, and calls f(lo, hi)
// for each in parallel. It returns when all calls have. The ranges depend only on n, grain and the number of threads. A
// good grain takes about ten microseconds.
func (x *Exec) Range(n, grain int, f func(lo, hi int)) { pool(x).Range(n, grain, f) }

// Run calls f for each task in [0, n) in parallel. worker is less than Threads and never the same for two threads at the
// same time, so each worker can have its own scratch memory. Results of a task must not depend on its worker.
func (x *Exec) Run(n int, f func(worker, task int)) { pool(x).Run(n, f) }

// Reserve charges bytes that a kernel allocates on the heap to the memory limit until release is called. It is an error
// if that many are not left. Scratch memory is charged automatically.
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
// afterwards. The kernel may then use that memory as scratch.
func (x *Exec) MayOverwrite(t *tensor.Dense) bool { return (*engine.Exec)(x).MayOverwrite(t) }

// Packed returns the result of pack, which rearranges inputs of the running kernel: for example a weight in the order in
// which a product reads it. It comes from a cache if it was made before with the same key and the inputs have not changed
// since. It is nil if it cannot be cached, since the inputs are computed or fed, and on first use, since weights that
// change in each step are not worth the memory: the kernel then reads the inputs themselves. The key must be comparable,
// and distinguish what different kernels make of the first of the inputs.
func (x *Exec) Packed(key any, pack func() any, of ...*tensor.Dense) any {
	return (*engine.Exec)(x).Packed(key, pack, of...)
}

// pool returns the worker pool of the run; nil: one thread.
func pool(x *Exec) *kernel.Pool { return (*engine.Exec)(x).Pool() }

// scratch adapts x to the scratch parameter of the functions in package kernel.
func scratch[T kernel.Float](x *Exec) func(n int) []T { return engine.Scratch[T]((*engine.Exec)(x)) }

// engine returns the kernel as programs call it.
func (k Kernel) engine() engine.Kernel {
	if k == nil {
		return nil
	}
	return func(x *engine.Exec, out, in []*tensor.Dense) error { return k((*Exec)(x), out, in) }
}
