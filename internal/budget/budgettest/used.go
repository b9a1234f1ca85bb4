// Package budgettest has test helpers for what is charged to the memory budget.
package budgettest

import (
	"errors"
	"math"
	"runtime"
	"time"

	"github.com/graft-ml/graft/internal/budget"
)

// Used returns how many bytes are charged, once what nobody uses any more, such as what other tests made, has been given back.
func Used() int64 {
	used, same := int64(-1), 0
	for {
		runtime.GC()
		time.Sleep(time.Millisecond) // cleanups run after a collection, by themselves
		full, _ := errors.AsType[*budget.Error](budget.Charge(math.MaxInt64))
		if same++; full.Used != used {
			used, same = full.Used, 0
		}
		if same == 2 {
			return used
		}
	}
}
