package layout

import (
	"bytes"
	"testing"
)

// TestExpandBytes compares with indices, on results of several parts as well.
func TestExpandBytes(t *testing.T) {
	for _, c := range []struct {
		from, to []int
		size     int
	}{
		{[]int{3, 1}, []int{2, 3, 4}, 2},
		{[]int{1}, []int{5}, 1},
		{[]int{2, 1, 3}, []int{2, 0, 3}, 4},
		{nil, []int{2, 2}, 8},
		{[]int{1 << 10, 1}, []int{1 << 10, 5<<10 + 3}, 2},
		{[]int{1, 9 << 20}, []int{2, 9 << 20}, 1},
	} {
		n, m := c.size, c.size
		for _, d := range c.from {
			n *= d
		}
		for _, d := range c.to {
			m *= d
		}
		src, dst, want := make([]byte, n), make([]byte, m), make([]byte, m)
		for i := range src {
			src[i] = byte(i*7 + i>>8)
		}
		for i := range m / c.size {
			at, step, rest := 0, 1, i
			for axis := len(c.to) - 1; axis >= 0; axis-- {
				k := rest % c.to[axis]
				rest /= c.to[axis]
				if a := axis - len(c.to) + len(c.from); a >= 0 {
					if c.from[a] > 1 {
						at += k * step
					}
					step *= c.from[a]
				}
			}
			copy(want[i*c.size:], src[at*c.size:][:c.size])
		}
		ExpandBytes(nil, dst, src, c.from, c.to, c.size)
		if !bytes.Equal(dst, want) {
			t.Errorf("%v to %v: wrong", c.from, c.to)
		}
	}
}
