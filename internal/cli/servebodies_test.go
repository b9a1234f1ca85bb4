package cli

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/budget/budgettest"
)

// TestBodiesCharged: the bodies of requests are charged to the memory limit while they are read and answered.
func TestBodiesCharged(t *testing.T) {
	defer budget.Limit(0)
	const size = 4 << 20
	used := budgettest.Used()
	var total atomic.Int64
	for _, fits := range []bool{true, false} {
		budget.Limit(used + size/2)
		if fits {
			budget.Limit(used + 2*size)
		}
		b := &meteredBody{ReadCloser: io.NopCloser(strings.NewReader(strings.Repeat("x", size))), total: &total, most: 1 << 40}
		_, err := io.Copy(io.Discard, b)
		if full := (*budget.Error)(nil); fits != (err == nil) || err != nil && !errors.As(err, &full) {
			t.Errorf("fits %v: %v", fits, err)
		}
		if took := budgettest.Used() - used; fits && took < size {
			t.Errorf("%d bytes are charged for a body of %d", took, size)
		}
		b.release()
		if left := budgettest.Used() - used; left != 0 || total.Load() != 0 {
			t.Errorf("%d bytes are charged, %d counted after the answer", left, total.Load())
		}
	}
}
