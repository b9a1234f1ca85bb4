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
