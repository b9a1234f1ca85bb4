package budget

import (
	"runtime"
	"testing"
)

// TestHeld: whatever charges a variable, Hold and Count charge only the rest, and all of it is returned when the variable is unreachable, or was
// not made.
func TestHeld(t *testing.T) {
	defer Limit(0)
	settle()
	before := state.used
	Limit(before + 1000000)
	type large [1 << 10]int64
	p, err := Made(100000, func() *large { return new(large) })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		charge func() error
		want   int64
	}{
		{func() error { return Hold(p, 100000) }, 100000},
		{func() error { return Hold(p, 90000) }, 100000},
		{func() error { return Hold(p, 150000) }, 150000},
		{func() error { return Keep(p, 50000) }, 200000},
		{func() error { Count(p, 200000); return nil }, 200000},
		{func() error { Count(p, 1200000); return nil }, 1200000}, // beyond the limit
	} {
		if err := c.charge(); err != nil || Held(p) != c.want || state.used-before != c.want {
			t.Errorf("%v: %d bytes for the variable, %d in all, want %d", err, Held(p), state.used-before, c.want)
		}
	}
	if err := Hold(p, 1200001); err == nil {
		t.Error("more than the limit")
	}
	runtime.KeepAlive(p)
	p = nil
	if settle(); state.used != before || len(state.held) > 0 {
		t.Errorf("%d bytes are charged for %d variables, for nothing", state.used-before, len(state.held))
	}
	if p, err := Made(100000, func() *large { return nil }); p != nil || err != nil || state.used != before {
		t.Errorf("nothing was made: %v, %d bytes are charged", err, state.used-before)
	}
	func() {
		defer func() { recover() }()
		_, _ = Made(100000, func() *large { panic("stopped") })
	}()
	if state.used != before {
		t.Errorf("what was stopped is charged %d bytes", state.used-before)
	}
}
