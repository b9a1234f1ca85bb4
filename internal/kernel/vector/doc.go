// Package vector adds up slices, their products and multiples: on a pool, whatever the number of threads with the same result, and
// (Block…, Affine, AddScaled, AddProduct) on the calling goroutine.
package vector
