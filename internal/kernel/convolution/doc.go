// Package convolution is convolution with one to three spatial dimensions, its gradients with respect to input and weights, and the
// transposed convolution. Forward, BackwardData and BackwardWeight choose between a matrix product that reads its operand by im2col,
// tiles that read the input in place, depthwise kernels, and Winograd's algorithm; the choice depends on the shape alone.
package convolution
