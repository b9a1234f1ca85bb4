// Package norm computes batch and layer normalization, forward and backward, and the moments that they need.
package norm
