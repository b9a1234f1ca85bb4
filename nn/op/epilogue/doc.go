// Package epilogue describes computations that a kernel can apply to its result while the result is still in a cache. A
// matrix product or a convolution (a Host) can take over the normalization, the sum and the activation that follow it
// (each a Step). Operators list both among the Patterns of their op.Scheduling; Fusions are the rules that combine
// them. Function returns the functions that a kernel can apply, by name.
package epilogue
