//go:build gaps

package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/graft-ml/graft/internal/kernel"
)

// longestGap runs f to its end and returns the longest processor time between two checks of its context, with the functions that made the later one. What
// is awaited, so that the call returns at once when the context ends, does not count.
func longestGap(f func(ctx context.Context) error) (longest time.Duration, where string, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var at [12]uintptr
	n := 0
	last, counted := time.Now(), time.Now() // of the check before, and of the one before which lastSpent was taken
	lastSpent := spent()
	awaited := 0
	checked := func() {
		if awaited > 0 {
			return
		}
		if gap := time.Since(last); gap > 2*time.Millisecond || last.Sub(counted) > 10*time.Millisecond {
			now := spent() // a system call
			if gap = min(gap, now-lastSpent); gap > longest {
				longest, n = gap, runtime.Callers(3, at[:])
			}
			lastSpent, counted = now, time.Now()
		}
		last = time.Now()
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
	return longest, names(at[:n]), err
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
