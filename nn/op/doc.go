// Package op is the vocabulary of graft: element types and shapes (Type, Dim), errors (Error),
// and one Op for every ONNX operator.
//
// An operator is declared in one file by a function that returns an *Op: a plain struct that
// says what the operator is (names, versions, attributes, slots) and what it does (types and
// shapes, kernel, gradient, couplings). Functions of an Op get a *Call: one use of the operator
// with its decoded attributes and whatever is known of its inputs. The list of all operators is
// generated from the declarations; Validate and the test harness check every one of them.
//
// In an expression graph every output of an operator is a node with an Op of its own; the
// outputs of one operator share a core. They are ordinary gorgonia.SDOps: gorgonia.Grad,
// gorgonia.Backpropagate and TapeMachine work on them.
package op

//go:generate go run ./gen
