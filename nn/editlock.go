package nn

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graft-ml/graft/internal/goroutine"
)

// editLock is the lock of a graph and the subgraphs in it. An edit holds it while its function runs. The function must read
// through its handle; a method of the graph that it calls panics or returns an error, since it would wait for itself.
type editLock struct {
	editor  atomic.Int64 // the goroutine that edits; 0: none
	readers atomic.Int64
	waiting atomic.Int64 // edits that wait

	mutex   sync.Mutex
	free    sync.Cond
	reading map[int64]int // the goroutines that called RLock, and how often
	begun   int           // edits, those that wait included; they come in order
	ended   int           // edits
	queued  int           // readers that wait
	due     int           // those that waited when the last edit ended: they come before the next
}

// inside reports whether the calling goroutine edits the graph.
func (l *editLock) inside() bool {
	id := l.editor.Load()
	return id != 0 && id == goroutine.ID()
}

func (l *editLock) editing() bool { return l.editor.Load() != 0 }

// begin begins an edit: it waits until nobody else reads or edits. It is an error if the calling goroutine does.
func (g *Graph) begin(stage string) error {
	if err := g.edited(stage); err != nil {
		return err
	}
	if !g.lock().Lock() {
		return &Error{Stage: stage, Err: errors.New("the goroutine that would edit the graph runs or reads it: an edit waits for the end of all runs")}
	}
	return nil
}

// Lock waits until nobody else reads or edits, and reports false if the calling goroutine reads.
func (l *editLock) Lock() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	id := goroutine.ID()
	if l.reading[id] > 0 {
		return false
	}
	number := l.begun
	l.begun++
	l.waiting.Add(1)
	for !l.claim(id, number) {
		if l.busy(number) {
			l.wait()
			continue
		}
		l.mutex.Unlock() // readers that come and go need not tell when they are gone
		time.Sleep(20 * time.Microsecond)
		l.mutex.Lock()
	}
	l.waiting.Add(-1)
	return true
}

// busy reports whether an edit must wait for one before it or for readers, which broadcast when they are gone.
func (l *editLock) busy(number int) bool {
	return l.ended != number || l.due > 0 || len(l.reading) > 0
}

// claim makes the goroutine the editor if nobody reads or edits. Readers first count themselves and then look for an editor, so that
// one of both sees the other. It waits a moment for readers that will soon be gone, since new ones keep coming.
func (l *editLock) claim(id int64, number int) bool {
	if l.busy(number) {
		return false
	}
	l.editor.Store(id)
	for range 100 {
		if l.readers.Load() == 0 {
			return true
		}
		runtime.Gosched()
	}
	l.editor.Store(0)
	return false
}

// Unlock reverts Lock. Readers that wait come before the next edit, so that one edit after the other does not keep them waiting.
func (l *editLock) Unlock() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.editor.Store(0)
	l.ended++
	l.due = l.queued
	l.free.Broadcast()
}

// RLock waits until nobody edits and, at most for one edit, until nobody waits for it, except that a goroutine that reads already may read more.
func (l *editLock) RLock() readLock {
	id := goroutine.ID()
	if l.editor.Load() == id {
		panic("nn: " + underEdit)
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.queue(func() bool { return l.waiting.Load() > 0 && l.reading[id] == 0 })
	if l.reading == nil {
		l.reading = map[int64]int{}
	}
	l.reading[id]++
	l.readers.Add(1)
	return readLock{l, id}
}

// enter waits until nobody edits, except the calling goroutine, which reads without the lock. It passes edits that wait: those
// wait for a run, of which the caller may be a part.
func (l *editLock) enter() readLock {
	if l.inside() {
		return readLock{}
	}
	if l.readers.Add(1); !l.editing() {
		return readLock{lock: l}
	}
	l.leave()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.queue(func() bool { return false })
	l.readers.Add(1)
	return readLock{lock: l}
}

// queue waits, as a reader, until nobody edits and, until an edit has ended meanwhile, while it must yield.
func (l *editLock) queue(yields func() bool) {
	ended := l.ended
	l.queued++
	for l.editing() || l.ended == ended && yields() {
		l.wait()
	}
	l.queued--
	if l.ended != ended {
		if l.due--; l.due == 0 {
			l.free.Broadcast()
		}
	}
}

// readLock is what RLock and enter return.
type readLock struct {
	lock *editLock // nil: nothing is held
	id   int64     // the goroutine; 0: of enter
}

func (r readLock) unlock() {
	l := r.lock
	if l == nil {
		return
	}
	if r.id != 0 {
		l.mutex.Lock()
		if l.reading[r.id]--; l.reading[r.id] == 0 {
			delete(l.reading, r.id)
			l.free.Broadcast()
		}
		l.mutex.Unlock()
	}
	l.leave()
}

func (l *editLock) leave() {
	if l.readers.Add(-1) == 0 && l.waiting.Load() > 0 {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.free.Broadcast()
	}
}

func (l *editLock) wait() {
	l.free.L = &l.mutex
	l.free.Wait()
}

const underEdit = "a method of the Graph is called by the function that edits it: use the methods of the Edit there"

// edited returns the error of an operation that the function that edits the graph must not call.
func (g *Graph) edited(stage string) error {
	if g.there(); !g.lock().inside() {
		return nil
	}
	return &Error{Stage: stage, Err: errors.New(underEdit)}
}

// lock returns the lock of the model that the graph is or belongs to.
func (g *Graph) lock() *editLock {
	for o := g.around.Load(); o != nil; o = g.around.Load() {
		g = o
	}
	return &g.mu
}

// adopt makes the subgraphs of the node share the lock of its graph.
func (n *Node) adopt() {
	for _, b := range n.bodies() {
		b.Graph.around.Store(n.graph)
	}
}

// locked is what a method of a graph that reads holds: defer g.locked().unlock(). In the function that edits the graph it panics.
// Subgraphs are read as part of the model, see Node.locked.
func (g *Graph) locked() readLock {
	g.there()
	if g.around.Load() != nil {
		return g.entered()
	}
	return g.mu.RLock()
}

func (g *Graph) entered() readLock {
	if g == nil {
		return readLock{}
	}
	return g.lock().enter()
}

// locked is what an exported method of a node holds. It waits for an edit of another goroutine; within one it reads the graph as
// changed so far. The methods without it are for code that holds the lock of the graph.
func (n *Node) locked() readLock {
	if n == nil {
		return readLock{}
	}
	return n.graph.entered()
}

func (v *Value) locked() readLock {
	if v == nil {
		return readLock{}
	}
	return v.graph.entered()
}

func (p *Param) locked() readLock {
	if p == nil {
		return readLock{}
	}
	return p.value.locked()
}
