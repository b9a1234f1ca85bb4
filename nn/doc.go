// Package nn holds models: a Graph of Nodes, connected by Values, with Params for what is learned.
//
// A Graph has the structure of an ONNX model (nodes with operators and attributes, named values, symbolic dimensions,
// metadata, operator-set versions) but does not depend on files. These invariants always hold; Graph.Check verifies them:
//
//   - identity is that of the pointer, not of the name; names of values are unique in their graph,
//   - a value has one source: a graph input, a Param, or an output of a node,
//   - a value knows its users, which are exactly the nodes that read it,
//   - the nodes form no cycle, and every value that is read belongs to the graph,
//   - types and shapes are those that the operators infer.
//
// A graph is changed only by Edit, a transaction that is applied as a whole or not at all; Plan tries one without
// applying it. To run a graph, Lower turns it into a Gorgonia expression graph, which Gorgonia differentiates and graft's
// engine runs; a lowering is never changed afterwards. Trace is the inverse of Lower: it makes a Graph of Gorgonia nodes.
//
// The methods of a Graph and of its Nodes, Values, Params, Bodies, Channels and Plans may be called by several goroutines. Those that
// read wait until no edit is in progress, and see nothing of one that is tried or fails; within the function of an edit they see its
// changes so far. A goroutine that this function starts and waits for must not call them: it would wait for the edit. Edits wait for
// runs, which use the graph as it was when they began. The elements of a parameter's tensor are not guarded.
package nn
