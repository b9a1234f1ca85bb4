package engine

import "github.com/graft-ml/graft/internal/budget"

// MemoryError says that programs would use more memory than the limit.
type MemoryError = budget.Error

// LimitMemory sets how many bytes programs may use together; 0: a share of what the machine has. Programs that already use more
// keep their memory.
func LimitMemory(n int64) { budget.Limit(n) }

// MemoryLeft returns how many bytes of the limit are not in use, which is also the size of the largest tensor that can be
// made.
func MemoryLeft() int64 { return budget.Left() }
