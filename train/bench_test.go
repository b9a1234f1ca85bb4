package train_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
)

// BenchmarkStep measures the allocations of a step, which must not grow with the batch.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{16, 1024} {
		b.Run(fmt.Sprint("batch", n), func(b *testing.B) {
			tr, err := train.New(small(b), train.Config{Rule: optim.SGD{LR: 1e-3}})
			if err != nil {
				b.Fatal(err)
			}
			x := batch(b, blobs(n, 1))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tr.Step(context.Background(), x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
