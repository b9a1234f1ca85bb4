// Package reduce reduces tensors along axes: sums, means, norms, products, minima and maxima.
package reduce
