// Package kerneltest is what the tests of kernels share: numbers, comparisons, the portable kernels as a reference, and yardsticks for
// benchmarks.
package kerneltest
