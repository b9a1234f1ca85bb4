// Package budget keeps the one budget that everything large is charged to: programs, what they hold, and what is read of files.
package budget

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

// state is what programs may take of the machine's memory, all of them together.
var state struct {
	sync.Mutex
	limit, used int64 // limit 0: Default
}

// defaultShare is the part of the machine's memory, or of what the container allows, that is taken
// by default: models, data and Go's own bookkeeping need the rest.
const defaultShare = 0.8

// Default is how many bytes programs may take together where Limit was not called.
var Default = sync.OnceValue(func() int64 { return int64(defaultShare * float64(allowedMemory())) })

// Limit sets how many bytes programs may take together; 0: Default. Those that have more keep it.
func Limit(n int64) {
	state.Lock()
	defer state.Unlock()
	state.limit = n
}

// Left returns how many bytes the programs that are there have left, the size of the largest
// tensor that can be made.
func Left() int64 {
	state.Lock()
	defer state.Unlock()
	return limit() - state.used
}

func limit() int64 {
	if state.limit > 0 {
		return state.limit
	}
	return Default()
}

// Error says that programs would take more than they may.
type Error struct{ Wanted, Used, Limit int64 }

func (e *Error) Error() string {
	return fmt.Sprintf("takes %d bytes of memory, with %d in use more than the limit of %d", e.Wanted, e.Used, e.Limit)
}

// Charge takes n bytes from the budget, or fails and takes nothing. What nobody uses any more is collected first.
func Charge(n int64) error {
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
	state.Lock()
	defer state.Unlock()
	if most := limit(); n > most-state.used {
		return &Error{n, state.used, most}
	}
	state.used += n
	return nil
}

// Discharge gives n bytes back.
func Discharge(n int64) {
	state.Lock()
	defer state.Unlock()
	state.used -= n
}
