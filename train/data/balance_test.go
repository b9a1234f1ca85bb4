package data_test

import (
	"slices"
	"testing"

	"github.com/graft-ml/graft/train/data"
)

func TestBalance(t *testing.T) {
	x, y := make([]float32, 100), make([]int64, 100)
	for i := range y {
		if x[i] = float32(i); i%10 == 0 {
			y[i] = 2
		}
	}
	s, err := data.Tensors(dense(x, 100, 1), dense(y, 100))
	if err != nil {
		t.Fatal(err)
	}
	classes, err := data.Classes(s)
	if err != nil {
		t.Fatal(err)
	}
	counts := data.Counts(classes)
	if !slices.Equal(counts, []int{90, 0, 10}) {
		t.Errorf("counts %v", counts)
	}
	if w := data.ClassWeights(counts); !slices.Equal(w, []float64{100.0 / 180, 0, 5}) {
		t.Errorf("weights %v", w)
	}
	b, err := data.Balance(s, classes)
	if err != nil {
		t.Fatal(err)
	}
	rare, seen := 0, map[float32]bool{}
	for epoch := range 20 {
		for batch, err := range (data.BatchLoader{Batch: 100, Shuffle: true, Seed: 1}).Batches(t.Context(), b, epoch) {
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range batch.Y[0].Int64s() {
				if seen[batch.X[0].Float32s()[i]] = true; c == 2 {
					rare++
				}
			}
		}
	}
	if rare < 900 || rare > 1100 || len(seen) != 100 {
		t.Errorf("%d of 2000 draws are of the rare class, %d of 100 samples were drawn", rare, len(seen))
	}
	if one, err := b.At(7, nil); err != nil || one.X[0].Float32s()[0] != 7 {
		t.Errorf("without chance sample 7 is %v, %v", one, err)
	}
	if _, err := data.Balance(s, classes[1:]); err == nil || err.Error() != "data: 99 classes for 100 samples" {
		t.Errorf("too few classes: %v", err)
	}
	measured, err := data.Tensors(dense(x, 100, 1), dense(x, 100))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := data.Classes(measured); err == nil || err.Error() != "data: sample 0 has no class: want one int64 target" {
		t.Errorf("measurements: %v", err)
	}
}
