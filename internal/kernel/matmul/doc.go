// Package matmul computes matrix products: [Gemm], batches of them, products with a packed operand ([Packed]) and with an
// epilogue. A [Product] reads its operands through the functions that pack them, which allows convolutions to multiply
// without an im2col matrix.
package matmul
