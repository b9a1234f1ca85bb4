// Package budget is the memory budget to which everything large is charged: programs, their results,
// and data read from files.
package budget

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"
	"unsafe"
	"weak"
)

// state is the limit of all programs together, and what they use.
var state struct {
	sync.Mutex
	limit, used int64                       // limit 0: Default
	fresh       int64                       // bytes charged until something is unreachable, since garbage was last collected
	held        map[weak.Pointer[byte]]hold // of each variable until it is unreachable
}

// hold is what is held for a variable: used bytes of the budget, of all bytes that are charged for it, some of them with another variable.
type hold struct{ used, all int64 }

// Default returns the limit in bytes if Limit was not called.
var Default = sync.OnceValue(func() int64 { return share(allowedMemory()) })

// notCharged is how many bytes Go's runtime, the program and what is not charged take, at most.
const notCharged = 64 << 20

// mostAddressed is how many bytes a slice can have, with room for its alignment.
const mostAddressed = math.MaxInt - 64

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

// Fits returns an *Error if n bytes could not be charged. What nobody uses any more is collected first.
func Fits(n int64) error {
	err := charge(n)
	if err == nil {
		Discharge(n)
	}
	return err
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
	n := state.limit
	if n <= 0 {
		n = Default()
	}
	return min(n, mostAddressed)
}

// Error reports that programs would use more memory than the limit.
type Error struct {
	Wanted, Used, Limit int64
	Setting             string // what sets the limit; "": Setting
}

// Setting is what sets the limit of the budget, for programs.
const Setting = "nn.LimitMemory"

func (e *Error) Error() string {
	return fmt.Sprintf("takes %d bytes of memory, with %d in use more than the limit of %d, which %s sets", e.Wanted, e.Used, e.Limit, cmp.Or(e.Setting, Setting))
}

// Full returns the error for n bytes if only left of the limit are unused.
func Full(n, left int64) error {
	state.Lock()
	defer state.Unlock()
	return &Error{Wanted: n, Used: limit() - left, Limit: limit()}
}

// Charge takes n bytes from the budget, or fails and takes nothing. What nobody uses any more is collected first, and then what is only
// kept for later.
func Charge(n int64) error {
	err := charge(n)
	if err == nil {
		makeRoom(n)
	}
	return err
}

func charge(n int64) error {
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
		return &Error{Wanted: n, Used: state.used, Limit: most}
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

// Keep charges n bytes more for as long as p is reachable.
func Keep[T any](p *T, n int64) error {
	if err := Charge(n); err != nil {
		return err
	}
	DischargeWith(p, n)
	return nil
}

// Hold charges n bytes for as long as p is reachable, those charged for it before included.
func Hold[T any](p *T, n int64) error {
	if n -= Held(p); n <= 0 {
		return nil
	}
	return Keep(p, n)
}

// Count is Hold beyond the limit, too: p is there, and what comes next is refused.
func Count[T any](p *T, n int64) {
	if n -= Held(p); n <= 0 {
		return
	}
	if Charge(n) != nil {
		Discharge(-n)
	}
	DischargeWith(p, n)
}

// Made returns what create returns, n bytes, charged before it is made and for as long as it is reachable. create may return nil.
func Made[T any](n int64, create func() *T) (p *T, err error) {
	if n < unchecked {
		return create(), nil
	}
	if err := Charge(n); err != nil {
		return nil, err
	}
	defer func() {
		if p == nil { // create failed, or was stopped
			Discharge(n)
		} else {
			DischargeWith(p, n)
		}
	}()
	return create(), nil
}

// Filled is Made for a slice of n elements.
func Filled[T any](n int, create func(n int) []T) (list []T, err error) {
	_, err = Made(int64(n)*int64(unsafe.Sizeof(*new(T))), func() *T {
		if list = create(n); cap(list) == 0 {
			return nil
		}
		return unsafe.SliceData(list)
	})
	return list, err
}

// Slice returns n zero elements, charged before they are allocated and for as long as they are reachable.
func Slice[T any](n int) ([]T, error) { return Filled(n, func(n int) []T { return make([]T, n) }) }

// Held returns how many bytes are charged for p.
func Held[T any](p *T) int64 {
	state.Lock()
	defer state.Unlock()
	return state.held[keyOf(p)].all
}

// Charged reports that n bytes of p are charged with another variable: Hold and Count do not charge them again.
func Charged[T any](p *T, n int64) { add(p, hold{all: n}) }

// DischargeWith returns n bytes, which are charged, to the budget when p is no longer reachable.
func DischargeWith[T any](p *T, n int64) { add(p, hold{n, n}) }

// add adds to what is held for p.
func add[T any](p *T, more hold) {
	key := keyOf(p)
	state.Lock()
	defer state.Unlock()
	if state.held == nil {
		state.held = map[weak.Pointer[byte]]hold{}
	}
	h := state.held[key]
	if h.all == 0 {
		runtime.AddCleanup(p, release, key)
	}
	state.held[key] = hold{h.used + more.used, h.all + more.all}
	state.fresh += more.used
}

func release(key weak.Pointer[byte]) {
	state.Lock()
	defer state.Unlock()
	state.used -= state.held[key].used
	delete(state.held, key)
}

func keyOf[T any](p *T) weak.Pointer[byte] { return weak.Make((*byte)(unsafe.Pointer(p))) }
