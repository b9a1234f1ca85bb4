package nn

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// editLock is the lock of a graph. An edit holds it while its function runs. The function must read through its
// handle; a method of the graph that it calls panics or returns an error, since it would wait for itself.
type editLock struct {
	mutex sync.RWMutex
	from  atomic.Pointer[[]uintptr] // the call stack of the edit in progress; nil: none
}

// begin records the call stack of the caller's caller, which edits from now on.
func (l *editLock) begin() {
	from := calls(4)
	l.from.Store(&from)
}

func (l *editLock) end() { l.from.Store(nil) }

// inside reports whether the calling goroutine edits the graph: its stack begins with that of the edit.
func (l *editLock) inside() bool {
	from := l.from.Load()
	if from == nil {
		return false
	}
	here := calls(2)
	return len(here) > len(*from) && slices.Equal(here[len(here)-len(*from):], *from)
}

// calls returns the return addresses on the stack, innermost first, without the given number of first
// ones; calls is the second.
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

// Unlock reverts Lock.
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

// RUnlock reverts RLock.
func (l *editLock) RUnlock() { l.mutex.RUnlock() }

const underEdit = "a method of the Graph is called by the function that edits it: use the methods of the Edit there"

// edited returns the error of an operation that the function that edits the graph must not call.
func (g *Graph) edited(stage string) error {
	if g.there(); !g.mu.inside() {
		return nil
	}
	return &Error{Stage: stage, Err: errors.New(underEdit)}
}
