// Package reduce reduces tensors over axes: sums, means, norms, products, largest and smallest elements.
package reduce
