// Package loops describes operators that compute element by element. Such operators that follow each other are fused:
// they run together, block by block, and intermediate results stay in the first-level cache. An operator lists its Loop
// among the Patterns of its op.Scheduling; Fusion is the rule that combines them.
package loops
