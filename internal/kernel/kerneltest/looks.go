package kerneltest

import (
	"context"
	"runtime"
	"strings"
	"sync"
)

// Looks is a context that counts the functions that ask for its error, with those that call them.
type Looks struct {
	context.Context
	mutex sync.Mutex
	by    map[[8]uintptr]int
}

func (c *Looks) Err() error {
	var at [8]uintptr
	runtime.Callers(2, at[:])
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.by == nil {
		c.by = map[[8]uintptr]int{}
	}
	c.by[at]++
	return c.Context.Err()
}

// In returns how often a function whose name contains a text looked, itself or in one that it called.
func (c *Looks) In(name string) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	total := 0
	for at, n := range c.by {
		frames := runtime.CallersFrames(at[:])
		for f, more := frames.Next(); ; f, more = frames.Next() {
			if strings.Contains(f.Function, name) {
				total += n
				break
			}
			if !more {
				break
			}
		}
	}
	return total
}
