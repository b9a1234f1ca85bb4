package kernel

import "sync/atomic"

// span is the range [lo, hi) of tasks that have not been started, as lo<<32 | hi. Its worker takes
// tasks from the front; workers that have finished theirs take from the back.
type span struct {
	v atomic.Uint64
	_ [56]byte // keeps spans of different workers in different cache lines
}

func (s *span) set(lo, hi int) { s.v.Store(uint64(lo)<<32 | uint64(hi)) }

func (s *span) first() (i int, ok bool) {
	for {
		v := s.v.Load()
		lo, hi := v>>32, v&(1<<32-1)
		if lo >= hi {
			return 0, false
		}
		if s.v.CompareAndSwap(v, (lo+1)<<32|hi) {
			return int(lo), true
		}
	}
}

func (s *span) last() (i int, ok bool) {
	for {
		v := s.v.Load()
		lo, hi := v>>32, v&(1<<32-1)
		if lo >= hi {
			return 0, false
		}
		if s.v.CompareAndSwap(v, lo<<32|(hi-1)) {
			return int(hi - 1), true
		}
	}
}
