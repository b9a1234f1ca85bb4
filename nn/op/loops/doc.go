// Package loops holds the words in which operators say that they compute element by element: those that follow each other
// then run together, block by block, and what is between them never leaves the first cache level. Operators name their
// loop in op.Op's Patterns; Fusion is the rule that joins them.
package loops
