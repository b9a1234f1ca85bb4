package kernel

import (
	"testing"
	"unsafe"

	"github.com/graft-ml/graft/internal/budget"
)

// TestBorrowCharged: a large buffer is charged before it is allocated, and refused if it does not fit, unless parameters are being updated.
func TestBorrowCharged(t *testing.T) {
	const n = 3 << 20
	b := Borrow[float64](n)
	if got := budget.Held(unsafe.SliceData(*b)); got != 8*n {
		t.Errorf("%d bytes are charged for %d", got, 8*n)
	}
	GiveBack(b)
	defer budget.Limit(0)
	budget.Limit(4 << 20)
	borrow := func() (err any) {
		defer func() { err = recover() }()
		Borrow[float32](n)
		return nil
	}
	if _, ok := borrow().(*budget.Error); !ok {
		t.Error("not refused")
	}
	Committing.Add(1)
	defer Committing.Add(-1)
	if err := borrow(); err != nil {
		t.Error(err)
	}
}
