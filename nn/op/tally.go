package op

import (
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
)

// Tally charges values that an operator gathers one by one, the results of a loop's iterations say, to the budget of memory. The
// zero value is empty.
type Tally struct{ of engine.Tally }

// Add charges values, or reports that there is no memory left for them.
func (t *Tally) Add(values ...dtype.Value) error {
	for _, v := range values {
		if err := t.of.Add(engine.Footprint(v)); err != nil {
			return err
		}
	}
	return nil
}

// Free gives back what was charged.
func (t *Tally) Free() { t.of.Free() }
