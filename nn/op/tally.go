package op

import (
	"context"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
)

// Tally charges values that an operator collects one by one, such as results of a loop's iterations, to the memory limit.
// The zero value is empty.
type Tally struct{ of engine.Tally }

// Add charges values. It is an error if there is not enough memory left for them, or if ctx ends.
func (t *Tally) Add(ctx context.Context, values ...dtype.Value) error {
	for _, v := range values {
		n, err := engine.Footprint(ctx, v)
		if err != nil {
			return err
		}
		if err := t.of.Add(n); err != nil {
			return err
		}
	}
	return nil
}

// Free releases what was charged.
func (t *Tally) Free() { t.of.Free() }
