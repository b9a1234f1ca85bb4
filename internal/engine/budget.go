package engine

import (
	"math"

	"github.com/graft-ml/graft/internal/budget"
)

// MemoryError reports that programs would use more memory than the limit.
type MemoryError = budget.Error

// LimitMemory sets how many bytes all programs together may use; 0: a fraction of the machine's memory. Programs that
// already use more keep their memory.
func LimitMemory(n int64) { budget.Limit(n) }

// MemoryLeft returns how many bytes of the limit are unused, which is also the size of the largest tensor that can be
// allocated.
func MemoryLeft() int64 { return budget.Left() }

// Fits returns a *MemoryError if not as many as n bytes of the limit are unused.
func Fits(n float64) error {
	if n <= float64(budget.Left()) {
		return nil
	}
	return budget.Fits(int64(min(n, math.MaxInt64/2)))
}
