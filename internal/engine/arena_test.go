package engine

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFit checks that buffers of random sizes and lifetimes do not overlap while they are live, and
// that memory offered to a step is free.
func TestFit(t *testing.T) {
	for _, n := range []int{1, 50, mostCompared, 3 * mostCompared} {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		b := &builder{}
		for range n {
			b.steps = append(b.steps, &step{kind: kernelStep})
		}
		var buffers []*buffer
		for i := range n {
			buffers = append(buffers, &buffer{size: align(1 + rng.Int64N(1<<rng.IntN(16))), first: i, last: min(n, i+rng.IntN(8))})
		}
		arena := newBuilder(t.Context()).fit(buffers)
		b.findHoles(buffers, arena)
		peak := int64(0)
		for i, s := range b.steps {
			var used []hole
			for _, x := range buffers[max(0, i-8) : i+1] {
				if x.last >= i {
					used = append(used, hole{x.off, x.size})
				}
			}
			slices.SortFunc(used, func(a, b hole) int { return cmp.Compare(a.off, b.off) })
			live, end, largest := int64(0), int64(0), int64(0)
			for _, u := range append(used, hole{arena, 0}) {
				if u.off < end {
					t.Fatalf("%d buffers: two overlap at step %d", n, i)
				}
				live, largest, end = live+u.size, max(largest, u.off-end), u.off+u.size
			}
			if peak = max(peak, live); end > arena {
				t.Fatalf("%d buffers: step %d needs %d of %d bytes", n, i, end, arena)
			}
			if largest >= smallestHole && (len(s.holes) == 0 || s.holes[0].size != largest) {
				t.Fatalf("%d buffers: step %d is offered %v, %d bytes are free", n, i, s.holes, largest)
			}
			for _, h := range s.holes {
				for _, u := range used {
					if h.off < u.off+u.size && u.off < h.off+h.size {
						t.Fatalf("%d buffers: step %d is offered memory in use", n, i)
					}
				}
			}
		}
		if arena > 3*peak {
			t.Errorf("%d buffers: %d bytes for %d that live at once", n, arena, peak)
		}
	}
}
