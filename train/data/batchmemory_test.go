package data

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/budget/budgettest"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// TestBatchesCharged: batches are charged while they are reachable. Those that are prepared ahead are given up when something else needs the memory, and prepared when
// they are asked for; a batch that does not fit by itself is an error.
func TestBatchesCharged(t *testing.T) {
	const size, batch = 1 << 20, 2 // bytes of a sample, samples of a batch
	set := Map(Of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13), func(i int, _ *rand.Rand) (Sample, error) {
		d := dtype.New(dtype.Uint8, size)
		d.Raw[0] = byte(i)
		return Sample{X: []*tensor.Dense{d}}, nil
	})
	defer budget.Limit(0)
	before := budgettest.Used()
	s, err := Collate([]Sample{must(set.At(1, nil)), must(set.At(2, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if got := budgettest.Used() - before; got < batch*size || got > batch*size*3/2 {
		t.Errorf("a batch of %d bytes is charged %d", batch*size, got)
	}
	runtime.KeepAlive(s)
	s = Sample{}
	for _, c := range []struct {
		name           string
		limit, charges int64 // beside what is charged before; what the consumer charges and returns for each batch
		fits           bool
	}{
		{"one batch", batch * size, 0, true},
		{"two", 2*batch*size + size, 0, true},
		{"with much that the consumer needs", 5 * batch * size, 4 * batch * size, true},
		{"not one", batch*size - 1, 0, false},
	} {
		budget.Limit(budgettest.Used() + c.limit)
		n := 0
		for b, err := range (BatchLoader{Batch: batch, Workers: 2, Prefetch: 4}).Batches(context.Background(), set, 0) {
			if _, full := errors.AsType[*budget.Error](err); err != nil {
				if c.fits || !full || n > 0 {
					t.Errorf("%s: batch %d: %v", c.name, n, err)
				}
				break
			}
			if x := b.X[0]; !x.Shape().Eq(tensor.Shape{batch, size}) || x.Raw[0] != byte(2*n) || x.Raw[size] != byte(2*n+1) {
				t.Errorf("%s: batch %d has samples %d and %d", c.name, n, x.Raw[0], x.Raw[size])
			}
			if err := budget.Charge(c.charges); err != nil {
				t.Fatalf("%s: batch %d: %v", c.name, n, err)
			}
			budget.Discharge(c.charges)
			n++
		}
		if c.fits != (n == set.Len()/batch) {
			t.Errorf("%s: %d batches", c.name, n)
		}
	}
}

// TestPreparedLater: a batch that did not fit while others were prepared is prepared when the consumer asks for it; another error stays.
func TestPreparedLater(t *testing.T) {
	a, end := newAhead()
	defer end()
	w := walk{s: Map(Of(5, 6, 7), func(i int, _ *rand.Rand) (Sample, error) { return Sample{X: []*tensor.Dense{label(i)}}, nil })}
	other := errors.New("another")
	for err, want := range map[error]error{fmt.Errorf("sample 1: %w", &budget.Error{}): nil, errLater: nil, other: other} {
		r := a.now(context.Background(), w, []int{1, 2}, result{err: err})
		if r.err != want || want == nil && !slices.Equal(dtype.Slice[int64](r.batch.X[0]), []int64{6, 7}) {
			t.Errorf("%v: %v, %v", err, r.batch, r.err)
		}
	}
}

func must(s Sample, err error) Sample {
	if err != nil {
		panic(err)
	}
	return s
}
