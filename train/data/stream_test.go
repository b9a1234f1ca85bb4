package data_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// counting returns a stream of n samples, the numbers from 0, and an error at the end, if there is one.
func counting(n int, end error) iter.Seq2[data.Sample, error] {
	return func(yield func(data.Sample, error) bool) {
		for i := range n {
			if !yield(data.Sample{X: []*tensor.Dense{tensor.New(tensor.FromScalar(int64(i)))}}, nil) {
				return
			}
		}
		if end != nil {
			yield(data.Sample{}, end)
		}
	}
}

func numbersOf(t *testing.T, s iter.Seq2[data.Sample, error]) (list []int64) {
	t.Helper()
	for x, err := range s {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x.X[0].Data().(int64))
	}
	return list
}

// A stream becomes batches of a size, the last one smaller, and ends with its error.
func TestBatches(t *testing.T) {
	var got []string
	for b, err := range data.Batches(counting(7, nil), 3) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(b.X[0].Data()))
	}
	if want := []string{"[0 1 2]", "[3 4 5]", "[6]"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	broken := errors.New("broken")
	n := 0
	for _, err := range data.Batches(counting(7, broken), 3) {
		if n++; n == 3 && (!errors.Is(err, broken) || err.Error() != "data: sample 7: broken") {
			t.Error(err)
		}
	}
	if n != 3 {
		t.Errorf("%d batches, want two and an error", n)
	}
	for _, err := range data.Batches(counting(7, nil), 0) {
		if err == nil || err.Error() != "data: batches of 0 samples: want 1 or more" {
			t.Error(err)
		}
	}
	for range data.Batches(counting(7, nil), 2) {
		break // takes no more
	}
}

// A shuffled stream has all samples once, none later than its buffer lets it be drawn early, the same for the same seed.
func TestShuffled(t *testing.T) {
	a, b, c := numbersOf(t, data.Shuffled(counting(100, nil), 10, 1, 0)), numbersOf(t, data.Shuffled(counting(100, nil), 10, 1, 0)), numbersOf(t, data.Shuffled(counting(100, nil), 10, 1, 1))
	if !slices.Equal(a, b) || slices.Equal(a, c) || slices.IsSorted(a) {
		t.Error(a, b, c)
	}
	for i, x := range a {
		if int(x) > i+10 {
			t.Errorf("sample %d comes as number %d", x, i)
		}
	}
	slices.Sort(a)
	for i, x := range a {
		if int(x) != i {
			t.Fatalf("%d in place of %d", x, i)
		}
	}
	for _, err := range data.Shuffled(counting(3, errors.New("broken")), 10, 1, 0) {
		if err == nil || err.Error() != "broken" {
			t.Error(err)
		}
	}
	if got := numbersOf(t, data.Shuffled(counting(4, nil), 0, 1, 0)); len(got) != 4 {
		t.Error(got)
	}
}
