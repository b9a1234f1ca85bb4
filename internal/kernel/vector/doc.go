// Package vector computes sums, scalar products and multiples of slices: on a pool, with results that do not depend on
// the number of threads, and (Block…, Affine, AddScaled, AddProduct) in the calling goroutine.
package vector
