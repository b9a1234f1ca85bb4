// Package generate writes a model as Go source that a person could have written: layers instead of nodes, blocks that
// the model repeats as functions with parameters and loops, names after the model's scopes, and the weights in a file
// beside it. The source builds the same model with graft's layers; it is meant to be read, changed and trained.
//
// A graph becomes steps (read.go): calls of layers and of operators that no layer stands for. Steps that are alike
// become functions (repeat.go). What the steps say is done at once, as the source would do it, and what comes out is
// compared with the model (build.go) before anything is written.
package generate
