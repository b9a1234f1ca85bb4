package std

import "testing"

func TestLongestRun(t *testing.T) {
	for _, c := range []struct {
		index    []int
		from, to int
	}{
		{[]int{-1, -1, 0, 1, 2, -1}, 2, 5},
		{[]int{0, 1, 0, 1, 2, 3, 1}, 2, 6},
		{[]int{-1, 4, 3, 2}, 1, 2},
		{[]int{-1, -1}, 0, 0},
	} {
		if from, to := longestRun(nil, c.index); from != c.from || to != c.to {
			t.Errorf("%v: from %d to %d, not from %d to %d", c.index, from, to, c.from, c.to)
		}
	}
}

// TestMappedInverse checks that gathering by the inverse gives the same as scatter-add, and that there
// is no inverse where an element is repeated.
func TestMappedInverse(t *testing.T) {
	m := mapped{from: rowStrides([]int{2, 3, 4}), sources: [][]int{{1, 0}, {-1, 1, 2}, {-1, -1, 0, 1, 2, 3, -1}}}
	back, ok := m.inverse(nil, []int{2, 3, 4})
	if !ok {
		t.Fatal("no inverse")
	}
	dy, want, got := make([]float32, 2*3*7), make([]float32, 2*3*4), make([]float32, 2*3*4)
	for i := range dy {
		dy[i] = float32(i + 1)
	}
	addMapped(nil, m, want, dy)
	readMapped(nil, back, got, dy, 0)
	for i, w := range want {
		if got[i] != w {
			t.Errorf("element %d is %g, not %g", i, got[i], w)
		}
	}
	if _, ok := (mapped{from: []int{1}, sources: [][]int{{0, 0, 1}}}).inverse(nil, []int{2}); ok {
		t.Error("an inverse of what shows an element twice")
	}
}
