// Package budget is the memory budget to which everything large is charged: programs, their results,
// and data read from files.
package budget

import (
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// state is the limit of all programs together, and what they use.
var state struct {
	sync.Mutex
	limit, used int64 // limit 0: Default
	fresh       int64 // bytes charged until something is unreachable, since garbage was last collected
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
// allocated. If half of the limit is used, and an eighth may be garbage, that is collected first.
func Left() int64 {
	state.Lock()
	most, used, fresh := limit(), state.used, state.fresh
	state.Unlock()
	if used > most/2 && fresh > most/8 {
		collect()
		state.Lock()
		most, used = limit(), state.used
		state.Unlock()
	}
	return most - used
}

// LeftCollected is Left, after garbage was collected if half of the limit is used.
func LeftCollected() int64 {
	state.Lock()
	state.fresh = max(state.fresh, limit()/8+1)
	state.Unlock()
	return Left()
}

// Fits reports whether n bytes could be charged. What nobody uses any more is collected first.
func Fits(n int64) bool {
	return holds(n) == nil
}

// collect collects garbage. What is charged for it is discharged by cleanups, which run by themselves: collect waits for the one of a mark, so that
// others have begun, however busy the machine is.
func collect() {
	state.Lock()
	state.fresh = 0
	state.Unlock()
	done := make(chan bool)
	runtime.AddCleanup(new(chan bool), func(done chan bool) { close(done) }, done)
	runtime.GC()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
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

// Charge takes n bytes from the budget, or fails and takes nothing. What nobody uses any more is collected first, and then what is only
// kept for later.
func Charge(n int64) error {
	err := tryCharge(n)
	if full, ok := err.(*Error); !ok || n > full.Limit {
		return err
	}
	for _, release := range []func(){nil, releaseKept} {
		if release != nil {
			release()
		}
		collect()
		for range 20 { // cleanups run after a collection, by themselves
			if err = tryCharge(n); err == nil {
				return nil
			}
			time.Sleep(time.Millisecond)
		}
	}
	return err
}

// kept are functions that release what is kept for later.
var kept struct {
	sync.Mutex
	release []func()
}

// OnFull registers a function that releases what is kept for later, when something does not fit.
func OnFull(release func()) {
	kept.Lock()
	defer kept.Unlock()
	kept.release = append(kept.release, release)
}

func releaseKept() {
	kept.Lock()
	list := kept.release
	kept.Unlock()
	for _, release := range list {
		release()
	}
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

// Keep charges n bytes for as long as p is reachable.
func Keep[T any](p *T, n int64) error {
	if err := Charge(n); err != nil {
		return err
	}
	discharged(p, n)
	return nil
}

// Count charges n bytes for as long as p is reachable, beyond the limit too: they are there, and what comes next is refused.
func Count[T any](p *T, n int64) {
	if n == 0 {
		return
	}
	if Charge(n) != nil {
		Discharge(-n)
	}
	discharged(p, n)
}

// Filled returns what create makes, n elements, charged before it is made and for as long as it is reachable.
func Filled[T any](n int, create func(n int) []T) ([]T, error) {
	size := int64(n) * int64(unsafe.Sizeof(*new(T)))
	if size < unchecked {
		return create(n), nil
	}
	if err := Charge(size); err != nil {
		return nil, err
	}
	list := create(n)
	if p := unsafe.SliceData(list); cap(list) > 0 {
		discharged(p, size)
	} else {
		Discharge(size)
	}
	return list, nil
}

// Slice returns n zero elements, charged before they are allocated and for as long as they are reachable.
func Slice[T any](n int) ([]T, error) { return Filled(n, func(n int) []T { return make([]T, n) }) }

// Made returns what create returns, n bytes, charged before it is made and for as long as it is reachable.
func Made[T any](n int64, create func() *T) (*T, error) {
	if n < unchecked {
		return create(), nil
	}
	if err := Charge(n); err != nil {
		return nil, err
	}
	p := create()
	discharged(p, n)
	return p, nil
}

// discharged returns n bytes to the budget when p is no longer reachable.
func discharged[T any](p *T, n int64) {
	state.Lock()
	state.fresh += n
	state.Unlock()
	runtime.AddCleanup(p, Discharge, n)
}
