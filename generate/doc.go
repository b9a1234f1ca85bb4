// Package generate writes a model as readable Go source: layers instead of nodes, functions and loops for blocks that the
// model repeats, names taken from the model's scopes, and the weights in a file beside it. The source builds the same
// model with graft's layers or, in the style Gorgonia, with Gorgonia's functions alone; it is meant to be read, changed and
// trained.
//
// A copy of the graph is converted to the newest operator set, and calls of functions of the model are replaced by their
// nodes (layers.go). The copy is turned into steps (read.go): calls of layers, and of operators for which there is no layer.
// Steps that are alike become functions (repeat.go). Before anything is written, the steps are executed as the source
// would, and the resulting model is compared with the original (build.go).
package generate
