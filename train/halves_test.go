package train

import (
	"errors"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
)

// TestHalvesCharged: what an exchange in 16 bits takes is charged before, and there also if it does not fit, since other ranks wait.
func TestHalvesCharged(t *testing.T) {
	defer budget.Limit(0)
	budget.Limit(1 << 20)
	var h halves
	full, ok := errors.AsType[*budget.Error](h.reserve(1<<20, 2))
	if !ok || full.Wanted < 1<<21 {
		t.Errorf("%v, want an error for 2 MiB", full)
	}
	if _, block := wireBlock(1<<20, 2); len(h.wire) < 2*block || len(h.sums) < 1<<19 || len(h.other) < 1<<19 {
		t.Errorf("%d bytes, %d and %d numbers", len(h.wire), len(h.sums), len(h.other))
	}
	budget.Limit(1 << 30)
	if left, err := budget.Left(), h.reserve(1<<19, 2); err != nil || budget.Left() != left {
		t.Errorf("%v: what is there was charged again: %d bytes are left of %d", err, budget.Left(), left)
	}
}
