package budget

import (
	"errors"
	"testing"
)

// TestCharge: what is charged counts together until it is returned; a charge beyond the limit takes nothing.
func TestCharge(t *testing.T) {
	Limit(100)
	defer Limit(0)
	for _, n := range []int64{60, 40} {
		if err := Charge(n); err != nil {
			t.Fatal(err)
		}
	}
	var full *Error
	if err := Charge(1); !errors.As(err, &full) || *full != (Error{Wanted: 1, Used: 100, Limit: 100}) {
		t.Errorf("one byte more: %v", err)
	}
	if n := Left(); n != 0 {
		t.Errorf("%d bytes are left of 100", n)
	}
	Discharge(40)
	if n := Left(); n != 40 {
		t.Errorf("%d bytes are left, want 40", n)
	}
	if err := Charge(41); err == nil {
		t.Error("41 bytes of 40")
	}
	if err := Charge(40); err != nil {
		t.Error(err)
	}
	Discharge(100)
	if err := Charge(1 << 62); err == nil {
		t.Error("2⁶² bytes of 100")
	}
}

// TestShare: Go's runtime and the program have their room beside the default limit.
func TestShare(t *testing.T) {
	for allowed, want := range map[int64]int64{0: 1, 2: 1, 64 << 20: 32 << 20, 100 << 20: 50 << 20, 200 << 20: 136 << 20, 1000 << 20: 800 << 20, 10000 << 20: 8000 << 20} {
		if got := share(allowed); got != want {
			t.Errorf("%d bytes of %d, want %d", got, allowed, want)
		}
	}
}
