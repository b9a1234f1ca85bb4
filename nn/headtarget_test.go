package nn

import (
	"slices"
	"testing"
)

// The last number that is the number of classes is replaced, and the target given stays as it is.
func TestWithClasses(t *testing.T) {
	for _, c := range []struct {
		target, want []int
		ok           bool
	}{
		{[]int{10}, []int{3}, true},
		{[]int{10, -1}, []int{3, -1}, true},
		{[]int{10, 10}, []int{10, 3}, true},
		{[]int{0, 10, 1}, []int{0, 3, 1}, true},
		{[]int{-1, 11}, []int{-1, 11}, false},
		{nil, nil, false},
	} {
		given := slices.Clone(c.target)
		if got, ok := withClasses(c.target, 10, 3); !slices.Equal(got, c.want) || ok != c.ok || !slices.Equal(c.target, given) {
			t.Errorf("%v: got %v, %v, want %v, %v", given, got, ok, c.want, c.ok)
		}
	}
}
