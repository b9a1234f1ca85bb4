package data_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/graft-ml/graft/train/data"
)

// TestEndedGoroutine: a set that ends the goroutine of a worker, as t.Fatal in it does, is an error, and is not waited for.
func TestEndedGoroutine(t *testing.T) {
	for workers := 1; workers <= 3; workers++ {
		for _, all := range []bool{false, true} {
			s := data.Map(data.Of(0, 1, 2, 3, 4, 5, 6, 7), func(i int, _ *rand.Rand) (data.Sample, error) {
				if all || i == 5 {
					runtime.Goexit()
				}
				return data.Sample{}, nil
			})
			var got error
			for _, err := range (data.BatchLoader{Batch: 2, Workers: workers}).Batches(context.Background(), s, 0) {
				got = err
			}
			if got == nil || !strings.Contains(got.Error(), "runtime.Goexit") {
				t.Errorf("%d workers, all %v: %v", workers, all, got)
			}
		}
	}
}
