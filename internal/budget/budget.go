// Package budget is the memory budget to which everything large is charged: programs, their results,
// and data read from files.
package budget

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

// state is the limit of all programs together, and what they use.
var state struct {
	sync.Mutex
	limit, used int64 // limit 0: Default
}

// Default returns the limit in bytes if Limit was not called.
var Default = sync.OnceValue(func() int64 { return share(allowedMemory()) })

// notCharged is how many bytes Go's runtime, the program and what is not charged take, at most.
const notCharged = 64 << 20

// share returns the default limit, of the memory that the machine has or its control group allows: four fifths of it, but all except
// 64 MB if that is less, or half.
func share(allowed int64) int64 {
	return max(min(allowed/5*4, allowed-notCharged), allowed/2, 1)
}

// Limit sets how many bytes programs may use together; 0: Default. Programs that already use more keep their memory.
func Limit(n int64) {
	state.Lock()
	defer state.Unlock()
	state.limit = n
}

// Left returns how many bytes of the limit are unused: the size of the largest tensor that can be
// allocated.
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

// Error reports that programs would use more memory than the limit.
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

// Discharge returns n bytes to the budget.
func Discharge(n int64) {
	state.Lock()
	defer state.Unlock()
	state.used -= n
}
