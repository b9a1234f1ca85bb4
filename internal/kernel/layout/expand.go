package layout

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
)

// ExpandBytes broadcasts src of shape from into dst of shape to; elements have size bytes.
func ExpandBytes(p *kernel.Pool, dst, src []byte, from, to []int, size int) {
	f := append(slices.Repeat([]int{1}, len(to)-len(from)), from...)
	pace := p.Pace()
	repeat := func(dst, src []byte) {
		pace.Did(8 + min(len(src), len(dst))/64)
		kernel.Copy(p, dst, src)
	}
	var walk func(axis int, dst, src []byte)
	walk = func(axis int, dst, src []byte) {
		if slices.Equal(f[axis:], to[axis:]) {
			repeat(dst, src)
			return
		}
		n := to[axis]
		if n == 0 || len(dst) == 0 {
			return
		}
		d := len(dst) / n
		if f[axis] == 1 {
			walk(axis+1, dst[:d], src)
			for i := d; i < len(dst); i *= 2 {
				repeat(dst[i:], dst[:i])
			}
			return
		}
		s := len(src) / n
		for i := range n {
			walk(axis+1, dst[i*d:(i+1)*d], src[i*s:(i+1)*s])
		}
	}
	walk(0, dst[:len(dst)/size*size], src)
}
