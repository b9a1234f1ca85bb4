package engine

import "github.com/graft-ml/graft/internal/budget"

// MemoryError says that programs would take more than they may.
type MemoryError = budget.Error

// LimitMemory sets how many bytes programs may take together; 0: a share of what the machine has. Those that have more keep it.
func LimitMemory(n int64) { budget.Limit(n) }

// MemoryLeft is how many bytes the programs that are there have left, the size of the largest
// tensor that can be made.
func MemoryLeft() int64 { return budget.Left() }
