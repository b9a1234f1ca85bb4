// Package layout moves elements: transposition and expansion of dense row-major tensors.
package layout
