// Package kernel holds what the kernels on plain slices share: the worker pool, detection of processor features, buffers. The
// kernels themselves are in a subpackage for each family: vector, elementwise, reduce, layout, matmul, norm, softmax, recurrent,
// resample, convolution, pooling.
//
// Slices are contiguous and row-major. Every kernel takes the [Pool] to run on; a
// nil Pool means the calling goroutine. Work is split statically, and the order of
// additions does not depend on timing, so equal inputs and an equal number of
// threads give bitwise equal results.
//
// Kernels do not check their arguments: lengths that do not fit the shapes are a bug
// and panic (the pool passes a worker's panic on to the caller, where the engine
// turns it into an error). They only write where their documentation says.
//
// Every kernel exists in portable Go, generic over float32 and float64, which is the
// reference. Assembly replaces the inner loops for float32; simd_*.go say what a build
// contains, and [About] what is used on this machine:
//
//   - amd64 with AVX2 and FMA: all kernels, generated from gen; with AVX-512 wider
//     blocks. The choice is made at run time.
//   - arm64: matrix product, convolution, pooling, elementwise functions, sums and
//     transposition in NEON, generated from gen-arm64; tested under an emulator, their
//     speed has not been measured. What has no NEON form runs as portable Go.
//   - other processors, and the build tag purego: portable Go.
package kernel
