package data_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
)

// The parts of ranks, one after another, are the batches of one process; Indices names their samples.
func TestRanksDivideBatches(t *testing.T) {
	const n = 23
	x := dtype.New(dtype.Int64, n)
	for i := range n {
		dtype.Slice[int64](x)[i] = int64(i)
	}
	set, err := data.Tensors(x, x)
	if err != nil {
		t.Fatal(err)
	}
	batches := func(l data.BatchLoader) (list [][]int64) {
		for b, err := range l.Batches(context.Background(), set, 3) {
			if err != nil {
				t.Fatal(err)
			}
			var of []int64
			if len(b.X) > 0 {
				of = slices.Clone(dtype.Slice[int64](b.X[0]))
			}
			named, err := l.Indices(n, 3, len(list))
			if err != nil || !slices.EqualFunc(named, of, func(i int, x int64) bool { return int64(i) == x }) {
				t.Errorf("%+v: batch %d has the samples %v, %v, want %v", l, len(list), named, err, of)
			}
			list = append(list, of)
		}
		return list
	}
	for _, size := range []int{1, 5, 8, 23, 40} {
		for _, ranks := range []int{1, 2, 3, 5} {
			for _, workers := range []int{1, 2} {
				l := data.BatchLoader{Batch: size, Shuffle: true, Seed: 5, Workers: workers}
				want := batches(l)
				joined := make([][]int64, len(want))
				for l.Rank, l.Ranks = 0, ranks; l.Rank < ranks; l.Rank++ {
					parts := batches(l)
					if len(parts) != len(want) {
						t.Fatalf("rank %d of %d has %d batches, want %d", l.Rank, ranks, len(parts), len(want))
					}
					for i, p := range parts {
						joined[i] = append(joined[i], p...)
					}
				}
				for i := range want {
					if !slices.Equal(joined[i], want[i]) {
						t.Errorf("batch %d of %d samples on %d ranks: %v, want %v", i, size, ranks, joined[i], want[i])
					}
				}
			}
		}
	}
	// A model that fixes the batch takes whole parts only.
	var sizes [3][]int
	for rank := range 3 {
		for _, p := range batches(data.BatchLoader{Batch: 12, DropLast: true, Rank: rank, Ranks: 3}) {
			sizes[rank] = append(sizes[rank], len(p))
		}
	}
	for _, l := range []data.BatchLoader{{Batch: -1}, {Sampler: func(n, _ int) []int { return make([]int, n-1) }}} {
		if list, err := l.Indices(n, 0, 0); err == nil {
			t.Errorf("%+v: %v", l, list)
		}
	}
	for _, batch := range []int{-1, 3} {
		if list, err := (data.BatchLoader{Batch: 8}).Indices(n, 0, batch); err == nil || err.Error() != fmt.Sprintf("data: an epoch of 23 samples has 3 batches: there is no batch %d", batch) {
			t.Errorf("batch %d: %v, %v", batch, list, err)
		}
	}
	if !slices.Equal(sizes[0], []int{4, 4}) || !slices.Equal(sizes[1], []int{4, 4}) || !slices.Equal(sizes[2], []int{4, 0}) {
		t.Error(sizes)
	}
}
