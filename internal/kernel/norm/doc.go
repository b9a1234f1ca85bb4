// Package norm is batch and layer normalization, forward and backward, and the moments that they take.
package norm
