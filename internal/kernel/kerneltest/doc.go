// Package kerneltest holds what the tests of kernels share: input data, comparisons, the portable kernels as a reference,
// and baselines for benchmarks.
package kerneltest
