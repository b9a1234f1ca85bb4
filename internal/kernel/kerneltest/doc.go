// Package kerneltest supports the tests of kernels: input data, comparisons, the portable kernels as a reference, and
// baselines for benchmarks.
package kerneltest
