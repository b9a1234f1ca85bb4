package kernel

import (
	"sync/atomic"
	"testing"
)

// stopped runs f and reports whether it was stopped.
func stopped(t *testing.T, f func()) (yes bool) {
	t.Helper()
	defer func() {
		switch r := recover(); r {
		case nil:
		case Stopped{}:
			yes = true
		default:
			panic(r)
		}
	}()
	f()
	return false
}

func TestStoppedPoolBeginsNothing(t *testing.T) {
	for _, threads := range []int{1, 3} {
		workers := NewPool(threads)
		defer workers.Close()
		for name, p := range map[string]*Pool{"pool": workers.Stoppable(), "serial": workers.Stoppable().Serial(), "none": (*Pool)(nil).Stoppable()} {
			owner := p
			if p.serial == nil {
				owner = workers.Stoppable()
				p = owner.Serial()
			}
			done := make(chan struct{})
			owner.StopBy(done)
			var begun atomic.Int32
			count := func(_, i int) {
				if begun.Add(1) == 5 {
					close(done)
				}
			}
			if !stopped(t, func() { p.Run(100, count) }) {
				t.Errorf("%s of %d threads: Run was not stopped", name, threads)
			}
			if n := int(begun.Load()); n < 5 || n >= 5+threads {
				t.Errorf("%s of %d threads: %d tasks were begun", name, threads, n)
			}
			if !stopped(t, func() { p.Range(1<<20, 1, func(lo, hi int) { t.Error("Range began") }) }) || !stopped(t, p.Check) {
				t.Errorf("%s of %d threads: Range or Check was not stopped", name, threads)
			}
			owner.StopBy(nil)
			begun.Store(10)
			if stopped(t, func() { p.Run(10, count); p.Check() }) || begun.Load() != 20 {
				t.Errorf("%s of %d threads: does not run again", name, threads)
			}
		}
		if stopped(t, func() { workers.Run(10, func(_, _ int) {}) }) {
			t.Error("the pool that shares its workers was stopped")
		}
	}
}

func TestRangeEndsWithinALongPiece(t *testing.T) {
	p := (*Pool)(nil).Stoppable()
	done := make(chan struct{})
	p.StopBy(done)
	reached := 0
	if !stopped(t, func() {
		p.Range(1<<20, 16, func(lo, hi int) {
			if reached == 0 {
				close(done)
			}
			reached = hi
		})
	}) || reached > cutGrains*16 {
		t.Errorf("%d elements were computed", reached)
	}
}
