// Package optest checks operators. A Case is one use of an operator on values at hand; Check runs
// it through everything that an operator promises:
//
//   - the declaration is complete (op.Validate), the configuration survives Encode and Decode
//   - inferred types are those of the results, with symbolic dimensions too
//   - results are the wanted ones, agree between element types, alias nothing and leave the inputs alone
//   - kernels write every element, may take over memory where the operator says so, and skip unused outputs
//   - gradients agree with differences in float64, for each output alone and all together
//   - the engine and Gorgonia's TapeMachine compute the same
//   - an index that leaves all coupled axes leaves the rest of the outputs as they were
package optest
