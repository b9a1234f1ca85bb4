package kernel

import "unsafe"

// Pace checks in a serial loop, at even distances of work, CheckEvery elements, whether a pool is stopped.
type Pace struct {
	pool *Pool
	left int
}

// Pace returns a Pace for a loop on the calling goroutine. The loop calls Did with the work of each turn.
func (p *Pool) Pace() Pace { return Pace{p, CheckEvery} }

// Did counts n elements of work, each of a few nanoseconds. It panics with [Stopped] if the pool is stopped and a check is due.
func (c *Pace) Did(n int) {
	if c.left -= n; c.left < 0 {
		c.check()
	}
}

func (c *Pace) check() {
	c.left = CheckEvery
	c.pool.Check()
}

// Copy copies the elements of src, and checks now and then whether p, which may be nil, is stopped.
func Copy[E any](p *Pool, dst, src []E) {
	if len(dst) < CopyPart/64 {
		copy(dst, src)
		return
	}
	copyLong(p, dst, src)
}

func copyLong[E any](p *Pool, dst, src []E) {
	inBytes(p, dst[:min(len(dst), len(src))], func(lo, hi int) { copy(dst[lo:hi], src[lo:]) })
}

// Clear sets the elements to zero, and checks now and then whether p, which may be nil, is stopped.
func Clear[E any](p *Pool, dst []E) {
	if len(dst) < CopyPart/64 {
		clear(dst)
		return
	}
	clearLong(p, dst)
}

func clearLong[E any](p *Pool, dst []E) {
	inBytes(p, dst, func(lo, hi int) { clear(dst[lo:hi]) })
}

func inBytes[E any](p *Pool, v []E, f func(lo, hi int)) {
	var e E
	step := max(1, CopyPart/max(1, int(unsafe.Sizeof(e))))
	for lo := 0; lo < len(v); lo += step {
		if lo > 0 {
			p.Check()
		}
		f(lo, min(lo+step, len(v)))
	}
}
