// Package resample interpolates along an axis: each result is a weighted sum of a few elements, and the gradient is the
// transpose of that sum.
package resample
