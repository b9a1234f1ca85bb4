// Package nn holds models: a Graph of Nodes joined by Values, with Params for what is learned.
//
// A Graph has ONNX's shape (nodes with operators and attributes, named values, symbolic
// dimensions, metadata, operator-set versions) and knows nothing of files. These invariants hold
// at all times and are verified by Graph.Check:
//
//   - pointers are identity; every value has a name that no other value of the graph has,
//   - a value has one source: a graph input, a Param, or an output of a node,
//   - a value knows its users, and they are exactly the nodes that read it,
//   - the nodes form no cycle, and every value that is read is there,
//   - types and shapes are those that the operators infer.
//
// One verb changes a graph: Edit, a transaction that is applied whole or not at all. Plan is the
// same, unapplied. Running a graph lowers it to a Gorgonia expression graph (Lower), which is
// differentiated by Gorgonia and run by graft's engine; lowerings are made fresh and never
// mutated. Trace is the inverse: it makes a Graph from Gorgonia nodes.
package nn
