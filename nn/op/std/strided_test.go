package std

import (
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
)

// TestRuns walks blocks whose rows are shorter and longer than a run.
func TestRuns(t *testing.T) {
	for _, c := range []strided{
		{shape: []int{1}, strides: []int{1}},
		{shape: []int{0}, strides: []int{1}},
		{shape: []int{5, 3}, strides: []int{1, 5}, offset: 2},
		{shape: []int{40000, 2}, strides: []int{0, 1}},
		{shape: []int{maxRun}, strides: []int{1}},
		{shape: []int{maxRun + 1}, strides: []int{-1}, offset: maxRun},
		{shape: []int{2*maxRun + 5}, strides: []int{3}, offset: 7},
		{shape: []int{3, maxRun + 1}, strides: []int{1, 3}},
		{shape: []int{2, 3, 2 * maxRun}, strides: []int{0, 1, 2}, offset: 1},
		{shape: []int{2, 2, 2*maxRun + 1}, strides: []int{2*maxRun + 1, 0, 1}},
	} {
		want := offsets(c)
		most := 0
		for _, at := range want {
			most = max(most, at)
		}
		src := make([]int, most+1)
		for i := range src {
			src[i] = i
		}
		got := make([]int, len(want))
		readStrided(kernel.Default(), c, got, src)
		if !slices.Equal(got, want) {
			t.Errorf("%v: reads other elements", c)
		}
		if slices.Contains(c.strides, 0) {
			continue // elements would be written twice
		}
		back, values := make([]int, len(src)), make([]int, len(want))
		for i := range values {
			values[i] = i + 1
		}
		writeStrided(kernel.Default(), c, back, values)
		for i, at := range want {
			if back[at] != i+1 {
				t.Errorf("%v: element %d is not at %d", c, i, at)
				break
			}
		}
		c.runs(nil, func(from, n, at int) {
			if n < 1 || n > maxRun || want[from] != at {
				t.Errorf("%v: a run of %d elements from %d at %d", c, n, from, at)
			}
		})
	}
}

// offsets are where the elements of the block are, by the definition.
func offsets(s strided) []int {
	all := []int{s.offset}
	for k, n := range s.shape {
		var next []int
		for _, at := range all {
			for i := range n {
				next = append(next, at+i*s.strides[k])
			}
		}
		all = next
	}
	return all
}

func TestFillBytes(t *testing.T) {
	for _, n := range []int{0, 1, 2, maxRun - 1, maxRun, maxRun + 1, 3*maxRun + 2} {
		dst := make([]byte, 3*n)
		fillBytes(kernel.Default(), dst, []byte{1, 2, 3})
		for i, v := range dst {
			if int(v) != i%3+1 {
				t.Fatalf("%d elements: byte %d is %d", n, i, v)
			}
		}
	}
}

func TestExtent(t *testing.T) {
	x := make([]float32, 2*maxRun+3)
	for _, at := range []int{0, maxRun - 1, maxRun, 2*maxRun + 2} {
		clear(x)
		x[at] = 3
		if lo, hi := extent(kernel.Default(), x); lo != 0 || hi != 3 {
			t.Errorf("3 at %d: from %g to %g", at, lo, hi)
		}
		x[at] = -2
		if lo, hi := extent(kernel.Default(), x); lo != -2 || hi != 0 {
			t.Errorf("-2 at %d: from %g to %g", at, lo, hi)
		}
	}
	if lo, hi := extent(nil, nil); lo != 0 || hi != 0 {
		t.Errorf("of nothing: from %g to %g", lo, hi)
	}
}
