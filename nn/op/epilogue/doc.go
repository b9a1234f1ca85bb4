// Package epilogue holds the words in which operators say that a kernel can go on with its result while it is still in a
// cache: a matrix product or a convolution (a Host) takes up the normalization, the sum and the activation that follow it
// (each a Pattern). Operators name them in op.Op's Patterns; Fusions are the rules that bring them together.
package epilogue
