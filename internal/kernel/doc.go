// Package kernel is the arithmetic on plain slices: matrix product, convolution,
// pooling, elementwise functions, reductions, normalisation, recurrent cells, and
// the worker pool that they run on.
//
// Slices are contiguous and row-major. Every kernel takes the [Pool] to run on; a
// nil Pool means the calling goroutine alone. Work is split statically and no sum
// is formed in the order in which workers arrive, so equal inputs and an equal
// number of threads give equal bytes.
//
// Kernels trust their caller: lengths that do not fit the stated shapes are a bug
// and panic (the pool carries a worker's panic to the caller, where the engine
// turns it into an error). They write only where their documentation says.
//
// Everything exists as portable Go, generic over float32 and float64. On amd64
// with AVX2 and FMA, assembly generated from gen replaces the float32 inner loops;
// the choice is made at run time. The build tag purego leaves the assembly out.
package kernel
