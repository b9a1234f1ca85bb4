// Package engine compiles a Gorgonia expression graph into a static program and runs it.
//
// Gorgonia describes the computation and differentiates it; this package decides on the order of the steps and on
// their memory. Compile walks the graph once from its roots, merges equal computations, determines the lifetime of
// every intermediate value, and places all of them in one arena. Run then calls the kernels one after another without
// allocating.
//
// There are three kinds of nodes:
//
//   - nodes whose Op implements [Op] bring a [Core]: a plain function from input tensors to
//     output tensors that the engine has already allocated;
//   - nodes with any other gorgonia.Op ("foreign") run through Op.Do and their results are copied
//     into the arena, because some of Gorgonia's operations return views of their inputs;
//   - input nodes (no Op) and constants read their value, by pointer, at every Run.
//
// The arena is one block of pointer-free memory for all element types, so that a tensor of
// float32 can reuse the memory of one of int64. Values with pointers (strings, sequences) are
// ordinary Go values, made by [Core].Func in each run.
//
// Invariants: a kernel's output shares memory with an input only if the core allows it and the
// input is not read later; a root shares memory neither with another root nor with anything
// outside of the program; no step writes to the value of an input node.
//
// A program is used by one goroutine at a time. Programs share only the values bound to input nodes, which they only
// read, and the worker pool, so several may run at once. The exception are Gorgonia's operations that keep state in
// their Op (MaxPool2D, BatchNorm, Dropout): of a graph with those only one program may run at a time.
package engine
