package dtype_test

import (
	"errors"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn/dtype"
)

// TestElementsCharged: copies of elements in a wider type are charged before they are made.
func TestElementsCharged(t *testing.T) {
	defer budget.Limit(0)
	budget.Limit(1 << 20)
	d := dtype.New(dtype.Int8, 1<<18)
	_, floats := dtype.Float64s(d)
	_, ints := dtype.Int64s(d)
	for _, err := range []error{floats, ints} {
		if full, ok := errors.AsType[*budget.Error](err); !ok || full.Wanted != 1<<21 {
			t.Errorf("%v, want an error for 2097152 bytes", err)
		}
	}
}
