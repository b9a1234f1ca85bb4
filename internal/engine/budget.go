package engine

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

// budget is what programs may take of the machine's memory, all of them together.
var budget struct {
	sync.Mutex
	limit, used int64 // limit 0: DefaultMemory
}

// defaultShare is the part of the machine's memory, or of what the container allows, that is taken
// by default: models, data and Go's own bookkeeping need the rest.
const defaultShare = 0.8

// DefaultMemory is how many bytes programs may take together where LimitMemory was not called.
var DefaultMemory = sync.OnceValue(func() int64 { return int64(defaultShare * float64(allowedMemory())) })

// LimitMemory sets how many bytes programs may take together; 0: DefaultMemory. Those that have more keep it.
func LimitMemory(n int64) {
	budget.Lock()
	defer budget.Unlock()
	budget.limit = n
}

// MemoryLeft is how many bytes the programs that are there have left, the size of the largest
// tensor that can be made.
func MemoryLeft() int64 {
	budget.Lock()
	defer budget.Unlock()
	return memoryLimit() - budget.used
}

func memoryLimit() int64 {
	if budget.limit > 0 {
		return budget.limit
	}
	return DefaultMemory()
}

// MemoryError says that programs would take more than they may.
type MemoryError struct{ Wanted, Used, Limit int64 }

func (e *MemoryError) Error() string {
	return fmt.Sprintf("takes %d bytes of memory, with %d in use more than the limit of %d", e.Wanted, e.Used, e.Limit)
}

// charge takes n bytes from the budget, or fails and takes nothing. What nobody uses any more is collected first.
func charge(n int64) error {
	err := tryCharge(n)
	if err == nil {
		return nil
	}
	runtime.GC()
	for range 20 { // cleanups run after a collection, by themselves
		if err = tryCharge(n); err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

func tryCharge(n int64) error {
	budget.Lock()
	defer budget.Unlock()
	if limit := memoryLimit(); n > limit-budget.used {
		return &MemoryError{n, budget.used, limit}
	}
	budget.used += n
	return nil
}

// discharge gives n bytes back.
func discharge(n int64) {
	budget.Lock()
	defer budget.Unlock()
	budget.used -= n
}
