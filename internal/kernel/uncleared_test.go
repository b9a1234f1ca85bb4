package kernel

import "testing"

// TestZeros: large blocks are zero wherever they come from, and are not made once the pool is stopped.
func TestZeros(t *testing.T) {
	const n = 5 << 22
	for range 3 { // what was freed is reused
		v := Zeros[float32](nil, n)
		for i, x := range v {
			if x != 0 {
				t.Fatalf("element %d is %v", i, x)
			}
		}
		for i := range v {
			v[i] = 1
		}
	}
	p := (*Pool)(nil).Stoppable()
	done := make(chan struct{})
	p.StopBy(done)
	if v := Zeros[int](p, n/2); len(v) != n/2 {
		t.Errorf("%d elements", len(v))
	}
	close(done)
	if !stopped(t, func() { Zeros[int](p, n/2) }) {
		t.Error("was not stopped")
	}
}

func TestUncleared(t *testing.T) {
	for _, n := range []int{0, 1, unclearedFrom/8 - 1, unclearedFrom / 8, unclearedFrom} {
		v := Uncleared[float64](n)
		if len(v) != n || cap(v) != n {
			t.Errorf("%d elements with capacity %d, want %d", len(v), cap(v), n)
		}
		for i := range v {
			v[i] = float64(i)
		}
		for i, x := range v {
			if x != float64(i) {
				t.Fatalf("element %d of %d is %v", i, n, x)
			}
		}
	}
}
