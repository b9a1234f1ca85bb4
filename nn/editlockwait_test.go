package nn

import (
	"runtime"
	"testing"
	"time"
)

// A goroutine that reads may read more while an edit waits, by RLock and by enter; another one may only by enter. It may not edit.
func TestReadWhileEditWaits(t *testing.T) {
	g := New("net")
	l := g.lock()
	outer := l.RLock()
	edited := make(chan error)
	go func() { edited <- g.Edit(func(e *Edit) { e.SetName("other") }) }()
	for l.waiting.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	l.RLock().unlock()
	l.enter().unlock()
	if err := g.Edit(func(*Edit) {}); err == nil {
		t.Error("no error: the goroutine reads")
	}
	done := make(chan bool)
	go func() { l.enter().unlock(); done <- true }()
	<-done
	go func() { l.RLock().unlock(); done <- true }()
	select {
	case <-done:
		t.Error("a reader overtook an edit")
	case <-time.After(10 * time.Millisecond):
	}
	outer.unlock()
	if err := <-edited; err != nil {
		t.Error(err)
	}
	<-done
	if g.Name() != "other" || l.readers.Load() != 0 || len(l.reading) != 0 {
		t.Error(g.Name(), l.readers.Load(), l.reading)
	}
}

// Readers that wait for an edit come before the next edit, and edits come in order, whoever began to wait first, so that edits without a pause
// keep nobody waiting.
func TestEditsTakeTurns(t *testing.T) {
	for _, arrive := range []string{"eerr", "rree", "rere", "erer"} { // edits and readers, who are woken in an order of their own
		g := New("net")
		l := g.lock()
		order := make(chan string, 5)
		until := func(count func() int, n int) {
			t.Helper()
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Microsecond) {
				l.mutex.Lock()
				now := count()
				l.mutex.Unlock()
				if now == n {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s: %d, want %d to wait", arrive, now, n)
				}
			}
		}
		edits, readers := 0, 0
		l.Lock()
		for _, who := range arrive {
			if who == 'e' {
				name := []string{"first edit", "second edit"}[edits]
				go func() { l.Lock(); order <- name; l.Unlock() }()
				edits++
				until(func() int { return int(l.waiting.Load()) }, edits)
				continue
			}
			read := []func() readLock{l.RLock, l.enter}[readers]
			go func() { r := read(); order <- "reader"; r.unlock() }()
			readers++
			until(func() int { return l.queued }, readers)
		}
		l.Unlock()
		l.Lock() // the goroutine that edited edits again at once
		order <- "third edit"
		l.Unlock()
		for _, want := range []string{"reader", "reader", "first edit", "second edit", "third edit"} {
			if got := <-order; got != want {
				t.Errorf("%s: %s, want the %s", arrive, got, want)
			}
		}
		if l.begun != 4 || l.ended != 4 || l.queued != 0 || l.due != 0 || l.readers.Load() != 0 || len(l.reading) != 0 || l.editing() {
			t.Errorf("%s: the lock is not free: %d edits of %d, %d and %d readers wait, %d read", arrive, l.ended, l.begun, l.queued, l.due, l.readers.Load())
		}
	}
}

// An edit that has waited for readers of before tries again while they read, so that new ones, which overlap with them, wait for it.
func TestEditTriesBesideReaders(t *testing.T) {
	wait := func(l *editLock, what string, there func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Microsecond) {
			l.mutex.Lock() // who has counted itself waits then
			ok := there()
			l.mutex.Unlock()
			if ok {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	for _, readerFirst := range []bool{true, false} { // one of the two is woken first
		l := New("net").lock()
		edited, read, leave := make(chan bool), make(chan bool), make(chan bool)
		edit := func() {
			go func() { l.Lock(); l.Unlock(); close(edited) }()
			wait(l, "no edit waits", func() bool { return l.waiting.Load() == 1 })
		}
		l.Lock()
		if !readerFirst {
			edit()
		}
		go func() { r := l.enter(); close(read); <-leave; r.unlock() }()
		wait(l, "no reader waits", func() bool { return l.queued == 1 })
		if readerFirst {
			edit()
		}
		l.Unlock()
		<-read
		for deadline := time.Now().Add(time.Minute); !l.editing(); runtime.Gosched() { // between two tries it is not
			if time.Now().After(deadline) {
				t.Fatal("the edit does not try")
			}
		}
		close(leave)
		<-edited
	}
}
