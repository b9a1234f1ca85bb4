// Package pin binds the threads of a pool to separate processors, as the peers' scripts do with theirs:
// some systems run two threads of a short parallel region on the same one.
package pin

import (
	"os"
	"strconv"

	"github.com/graft-ml/graft/internal/kernel"
	"golang.org/x/sys/unix"
)

// Threads puts worker w of the pool on processor w. Go moves goroutines between threads, and a thread that it
// starts keeps to the processor of the one that started it, so this is to be done again before each
// step that is timed: else two workers end on one processor now and then. With one thread all threads of
// the process stay on the first, which those to come inherit.
func Threads(p *kernel.Pool) {
	if p.Threads() > 1 {
		p.Each(func(worker int) { thread(unix.Gettid(), worker) })
		return
	}
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			thread(id, 0)
		}
	}
}

func thread(id, processor int) {
	var set unix.CPUSet
	set.Set(processor)
	_ = unix.SchedSetaffinity(id, &set) // without it the measurements are noisier, not wrong
}
