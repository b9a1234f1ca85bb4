// Package convolution computes convolutions with one to three spatial dimensions, their gradients with respect to input
// and weights, and transposed convolutions. Forward, BackwardData and BackwardWeight choose between a matrix product that
// reads its operand by im2col, tiles that read the input in place, depthwise kernels, and Winograd's algorithm. The
// choice only depends on the shape.
package convolution
