// Package op is the contract of operators: element types and shapes (Type, Dim), errors (Error), what an operator
// declares (Op), and what its functions are given (Call).
//
// An operator is declared by a function that returns an *Op: a plain struct that says what the operator is (names,
// versions, attributes, slots) and what it does (types and shapes, kernel, gradient, couplings). The functions of an Op
// get a *Call: one use of the operator, with its decoded attributes and what is known of its inputs. A Set holds
// operators by name; those of ONNX are in package std. Validate and the test harness in package optest check each of
// them.
//
// In an expression graph, every output of an operator is a node with a Gorgonia Op of its own; the outputs of one
// operator share a core. They are ordinary gorgonia.SDOps: gorgonia.Grad, gorgonia.Backpropagate and TapeMachine work on
// them.
package op
