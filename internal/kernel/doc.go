// Package kernel is what the arithmetic on plain slices has in common: the worker pool, what the processor can do, buffers. The
// arithmetic itself is one package a family below it: vector, elementwise, reduce, layout, matmul, norm, softmax, recurrent,
// resample, convolution, pooling.
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
// Everything exists as portable Go, generic over float32 and float64, and that is the
// reference. Assembly replaces the float32 inner loops; simd_*.go say what a build has,
// [About] what runs here:
//
//   - amd64 with AVX2 and FMA: all kernels, generated from gen; with AVX-512 wider
//     blocks. The choice is made at run time.
//   - arm64: matrix product, convolution, pooling, elementwise functions, sums and
//     transposition in NEON, generated from gen-arm64; tested under an emulator, their
//     speed has not been measured. What has no NEON form runs as portable Go.
//   - other processors, and the build tag purego: portable Go.
package kernel
