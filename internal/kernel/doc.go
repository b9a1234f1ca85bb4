// Package kernel is the base of the kernels on plain slices: the worker pool, detection of processor features, buffers. The
// kernels themselves are in a subpackage for each family: vector, elementwise, reduce, layout, matmul, norm, softmax, recurrent,
// resample, convolution, pooling.
//
// Slices are contiguous and row-major. Every kernel takes the [Pool] to run on; a
// nil Pool means the calling goroutine. The order of additions depends on the sizes
// and the number of threads, not on timing, so that equal inputs and an equal number
// of threads produce bitwise equal results.
//
// Kernels do not check their arguments: lengths that do not fit the shapes are a bug
// and panic (the pool passes a worker's panic on to the caller, where the engine
// converts it to an error). They write only to the memory that they document.
//
// Every kernel exists in portable Go, generic over float32 and float64, which is the
// reference. Assembly replaces the inner loops for float32; simd_*.go define what a
// build contains, and [About] returns what is used on this machine:
//
//   - amd64 with AVX2 and FMA: all kernels, generated from gen; with AVX-512 wider
//     blocks. The choice is made at run time.
//   - arm64: matrix product, convolution, pooling, elementwise functions, sums and
//     transposition in NEON, generated from gen-arm64; tested under an emulator, their
//     speed has not been measured. Kernels without a NEON version run as portable Go.
//   - other processors, and the build tag purego: portable Go.
package kernel
