// Package layout transposes and expands dense row-major tensors.
package layout
