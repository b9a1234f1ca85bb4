package nn

import (
	"bytes"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

// editLock is the lock of a graph. An edit holds it; for the goroutine that edits it is open, so
// that the function of an edit may read the graph it changes.
type editLock struct {
	mutex  sync.RWMutex
	editor atomic.Uint64 // the number of the goroutine that edits, 0: none
}

// inside reports whether the calling goroutine is editing the graph.
func (l *editLock) inside() bool {
	editor := l.editor.Load()
	return editor != 0 && editor == goroutine()
}

// Lock waits until nobody else reads or edits.
func (l *editLock) Lock() {
	if !l.inside() {
		l.mutex.Lock()
	}
}

// Unlock undoes Lock.
func (l *editLock) Unlock() {
	if !l.inside() {
		l.mutex.Unlock()
	}
}

// RLock waits until nobody else edits.
func (l *editLock) RLock() {
	if !l.inside() {
		l.mutex.RLock()
	}
}

// RUnlock undoes RLock.
func (l *editLock) RUnlock() {
	if !l.inside() {
		l.mutex.RUnlock()
	}
}

// goroutine is the number of the calling goroutine. Go tells it at the head of a stack trace only;
// it is asked for while an edit is under way.
func goroutine() uint64 {
	var head [64]byte
	text := bytes.TrimPrefix(head[:runtime.Stack(head[:], false)], []byte("goroutine "))
	number, _, _ := bytes.Cut(text, []byte(" "))
	n, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		panic("nn: a stack trace begins with " + strconv.Quote(string(head[:])))
	}
	return n
}

// edited is the error of what cannot be done to a graph by the function that edits it.
func (g *Graph) edited(stage string) error {
	if g.there(); !g.mu.inside() {
		return nil
	}
	return &Error{Stage: stage, Err: errors.New("the graph is being edited by the caller: use the Edit, or wait until it is applied")}
}

// arrange sorts the nodes and infers their types where an edit under way has left that for later. An
// error stays with the edit.
func (g *Graph) arrange() {
	if e := g.edit; e != nil && e.err == nil {
		if e.sortNodes(); e.err == nil {
			e.fail(e.infer())
		}
	}
}
