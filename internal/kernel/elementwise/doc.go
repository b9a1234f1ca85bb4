// Package elementwise computes functions of single elements: of one operand and of two, their gradients, powers, casts between element
// types; and activations, alone or as a part of the [Epilogue] of a product, a convolution or a normalization.
//
// A function whose name ends in Into works on the calling goroutine.
package elementwise
