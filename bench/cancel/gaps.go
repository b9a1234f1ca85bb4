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

// longestGap runs f to its end and returns the longest processor time between two checks of its context, with the functions that made the later one.
func longestGap(f func(ctx context.Context) error) (longest time.Duration, where string, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	last := spent()
	var at [12]uintptr
	n := 0
	checked := func() {
		now := spent()
		if now-last > longest {
			longest, n = now-last, runtime.Callers(3, at[:])
		}
		last = spent()
	}
	kernel.Checked = checked
	err = f(counted{ctx, checked})
	checked()
	kernel.Checked = func() {}
	return longest, names(at[:n]), err
}

// counted is a context that calls a function when its error is asked for.
type counted struct {
	context.Context
	checked func()
}

func (c counted) Err() error {
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
