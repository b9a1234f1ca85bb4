// Package matmul is the matrix product: [Gemm], batches of it, products with an operand packed before ([Packed]) and with an epilogue.
// A [Product] reads its operands through the routines that pack them, which is how convolutions multiply without an im2col matrix.
package matmul
