// Package elementwise computes functions of single elements: unary and binary ones with their gradients, powers, casts,
// and activations, alone or as part of the [Epilogue] of a product, a convolution or a normalization.
//
// Functions whose names end in Into run in the calling goroutine.
package elementwise
