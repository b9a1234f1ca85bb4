package engine

import (
	"context"
	"slices"
	"unsafe"

	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/kernel"
)

// Exec provides a running kernel with the worker pool, scratch memory and the context of the run. The zero value and
// nil are valid: no workers, and scratch memory from the heap. Op.Do uses them on Gorgonia's own machines.
//
// Scratch memory is not initialized, is aligned to 64 bytes, and is valid until the kernel returns. Several goroutines of
// a kernel may allocate it at the same time.
type Exec struct {
	ctx     context.Context
	pool    *kernel.Pool
	at      *step // the running step
	scratch scratchpad
}

// WithContext returns an Exec without workers, for computations outside of a program.
func WithContext(ctx context.Context) *Exec {
	x := &Exec{ctx: ctx, pool: (*kernel.Pool)(nil).Stoppable()}
	x.pool.StopBy(ctx.Done())
	return x
}

// Pool returns the worker pool of the run; nil means serial.
func (x *Exec) Pool() *kernel.Pool {
	if x == nil {
		return nil
	}
	return x.pool
}

// Context returns the context of the run, for kernels that run programs themselves.
func (x *Exec) Context() context.Context {
	if x == nil || x.ctx == nil {
		return context.Background()
	}
	return x.ctx
}

// Reserve charges n bytes that a kernel allocates on the heap to the budget, until release. Small amounts are not
// charged. Once values were passed to callbacks it does not fail.
func (x *Exec) Reserve(n int64) (release func(), err error) {
	if n < 1<<20 {
		return func() {}, nil
	}
	if err := budget.Charge(n); err != nil {
		if x == nil || x.scratch.from == nil || !x.scratch.from.must {
			return nil, err
		}
		budget.Discharge(-n)
	}
	return func() { budget.Discharge(n) }, nil
}

// Float32 returns n uninitialised float32s.
func (x *Exec) Float32(n int) []float32 { return scratch[float32](x, n) }

// Float64 returns n uninitialised float64s.
func (x *Exec) Float64(n int) []float64 { return scratch[float64](x, n) }

// Int returns n uninitialised ints.
func (x *Exec) Int(n int) []int { return scratch[int](x, n) }

// Bytes returns n uninitialised bytes.
func (x *Exec) Bytes(n int) []byte { return scratch[byte](x, n) }

// MayOverwrite reports whether t is an input of the running kernel that is in the engine's memory and is not read
// afterwards: the kernel may use its memory as scratch.
func (x *Exec) MayOverwrite(t *tensor.Dense) bool {
	if x == nil || x.at == nil || t == nil {
		return false
	}
	i := slices.Index(x.at.din, t)
	return i >= 0 && x.at.last[i]
}

// Scratch adapts x to the scratch parameter of the functions in package kernel.
func Scratch[T kernel.Float](x *Exec) func(n int) []T {
	return func(n int) []T { return scratch[T](x, n) }
}

// scratch returns n elements of the pointer-free type T.
func scratch[T kernel.Plain](x *Exec, n int) []T {
	if n == 0 {
		return nil
	}
	if x == nil {
		return kernel.Uncleared[T](n)
	}
	var zero T
	b := x.scratch.take(int64(n) * int64(unsafe.Sizeof(zero)))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}
