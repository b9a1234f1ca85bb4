// Package convolution computes convolutions with one to three spatial dimensions, their gradients with respect to input
// and weights, and transposed convolutions. Forward, BackwardData and BackwardWeight choose between a matrix product that
// reads its operand by im2col, tiles that read the input in place, depthwise kernels, Winograd's
// algorithm, and, where the dilation is near the size of the image, regions of output points with the same taps inside. The
// choice only depends on the shape.
package convolution
