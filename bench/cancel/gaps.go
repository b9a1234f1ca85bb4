//go:build gaps

package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graft-ml/graft/internal/kernel"
)

var stacks = flag.Bool("stacks", false, "print what ran between the two checks as well")

// longestGap runs f to its end and returns the longest processor time between two checks of its context, with the functions that made the later one. What
// is awaited, so that the call returns at once when the context ends, does not count, nor does the collection of garbage, which is put off. With -stacks it also
// returns what ran between the two.
func longestGap(f func(ctx context.Context) error) (longest time.Duration, where string, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(12 << 30))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var at [12]uintptr
	n := 0
	last, counted := time.Now(), time.Now() // of the check before, and of the one before which lastSpent was taken
	lastSpent := spent()
	awaited := 0
	var w watcher
	if *stacks {
		defer w.watch()()
	}
	checked := func() {
		if awaited > 0 {
			return
		}
		if gap := time.Since(last); gap > 2*time.Millisecond || last.Sub(counted) > 10*time.Millisecond {
			now := spent() // a system call
			if gap = min(gap, now-lastSpent); gap > longest {
				longest, n = gap, runtime.Callers(3, at[:])
				w.keep()
			}
			lastSpent, counted = now, time.Now()
		}
		last = time.Now()
		w.next()
	}
	kernel.Checked = checked
	kernel.Awaits = func(change int) {
		if change > 0 {
			checked()
		}
		if awaited += change; awaited == 0 {
			last, counted, lastSpent = time.Now(), time.Now(), spent()
		}
	}
	err = f(checkedContext{ctx, checked})
	checked()
	kernel.Checked, kernel.Awaits = func() {}, func(int) {}
	return longest, names(at[:n]) + w.String(), err
}

// watcher notes the stack of the main goroutine every few milliseconds since the last check.
type watcher struct {
	mu         sync.Mutex
	seen, kept []string // since the last check; in the longest gap
}

// watch begins, and returns what ends it.
func (w *watcher) watch() (stop func()) {
	done := make(chan struct{})
	go func() {
		stack := make([]byte, 1<<20)
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			text := string(stack[:runtime.Stack(stack, true)])
			_, text, _ = strings.Cut(text, "goroutine 1 ")
			text, _, _ = strings.Cut(text, "\n\n")
			w.mu.Lock()
			w.seen = append(w.seen, text)
			w.mu.Unlock()
		}
	}()
	return func() { close(done) }
}

func (w *watcher) next() {
	if *stacks {
		w.mu.Lock()
		w.seen = w.seen[:0]
		w.mu.Unlock()
	}
}

func (w *watcher) keep() {
	w.mu.Lock()
	w.kept = slices.Clone(w.seen)
	w.mu.Unlock()
}

// String returns the innermost lines of the stacks, each after how often it was seen.
func (w *watcher) String() string {
	var b strings.Builder
	times := map[string]int{}
	for _, stack := range w.kept {
		var at strings.Builder
		lines := strings.Split(stack, "\n")
		for i := 2; i < len(lines) && i < 40; i += 2 {
			line, _, _ := strings.Cut(strings.TrimSpace(lines[i]), " ")
			if !strings.Contains(line, "/src/runtime/") {
				at.WriteString("  " + line[strings.LastIndexByte(line, '/')+1:])
			}
		}
		times[at.String()]++
	}
	for _, at := range slices.SortedFunc(maps.Keys(times), func(a, b string) int { return times[b] - times[a] }) {
		fmt.Fprintf(&b, "\n\t%d× %s", times[at], at)
	}
	return b.String()
}

// checkedContext is a context that calls a function when its error is asked for.
type checkedContext struct {
	context.Context
	checked func()
}

func (c checkedContext) Err() error {
	c.checked()
	return c.Context.Err()
}

func names(at []uintptr) string {
	var b strings.Builder
	frames := runtime.CallersFrames(at)
	for range 6 {
		f, more := frames.Next()
		name := f.Function[strings.LastIndexByte(f.Function, '/')+1:]
		if !strings.HasPrefix(name, "kernel.") && !strings.HasPrefix(name, "main.") {
			fmt.Fprintf(&b, "  %s:%d", name, f.Line)
		}
		if !more {
			break
		}
	}
	return b.String()
}
