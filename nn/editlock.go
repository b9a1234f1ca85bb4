package nn

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// editLock is the lock of a graph. An edit holds it while its function runs. The function reads by
// its handle; a method of the graph that is called there panics or returns an error, as it would wait for itself.
type editLock struct {
	mutex sync.RWMutex
	from  atomic.Pointer[[]uintptr] // the calls that led to the edit under way; nil: none is
}

// begin notes the calls that led to the caller's caller, which edits from now on.
func (l *editLock) begin() {
	from := calls(4)
	l.from.Store(&from)
}

func (l *editLock) end() { l.from.Store(nil) }

// inside reports whether the calling goroutine edits the graph: the calls that led to the edit led here as well.
func (l *editLock) inside() bool {
	from := l.from.Load()
	if from == nil {
		return false
	}
	here := calls(2)
	return len(here) > len(*from) && slices.Equal(here[len(here)-len(*from):], *from)
}

// calls returns the return addresses on the stack, innermost first, without the first ones; calls is itself the second.
func calls(without int) []uintptr {
	for n := 64; ; n *= 2 {
		list := make([]uintptr, n)
		if k := runtime.Callers(without, list); k < n {
			return list[:k]
		}
	}
}

// Lock waits until nobody else reads or edits.
func (l *editLock) Lock() { l.mutex.Lock() }

// Unlock undoes Lock.
func (l *editLock) Unlock() { l.mutex.Unlock() }

// RLock waits until nobody edits.
func (l *editLock) RLock() {
	if l.mutex.TryRLock() {
		return
	}
	if l.inside() {
		panic("nn: " + underEdit)
	}
	l.mutex.RLock()
}

// RUnlock undoes RLock.
func (l *editLock) RUnlock() { l.mutex.RUnlock() }

const underEdit = "a method of the Graph is called by the function that edits it: use the methods of the Edit there"

// edited is the error of what cannot be done to a graph by the function that edits it.
func (g *Graph) edited(stage string) error {
	if g.there(); !g.mu.inside() {
		return nil
	}
	return &Error{Stage: stage, Err: errors.New(underEdit)}
}
