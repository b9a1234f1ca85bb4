// Package pooling computes maxima, means and norms of windows with one to three spatial dimensions, and their gradients.
package pooling
