// Package optest checks operators. A Case is one use of an operator with concrete values; Check verifies everything that
// the operator declares about it:
//
//   - the declaration is complete (op.Validate), and the configuration survives Encode and Decode
//   - inferred types are those of the results, with symbolic dimensions too
//   - results are those expected, agree between element types, do not share memory, and inputs do not change
//   - kernels write every element, reuse memory where the operator allows it, and skip unused outputs
//   - gradients agree with finite differences in float64, for each output alone and for all together
//   - the engine and Gorgonia's TapeMachine compute the same
//   - removing an index from all coupled axes does not change the rest of the outputs
package optest
