package layout

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
)

// ExpandBytes broadcasts src of shape from into dst of shape to; elements have size bytes.
func ExpandBytes(p *kernel.Pool, dst, src []byte, from, to []int, size int) {
	f := append(slices.Repeat([]int{1}, len(to)-len(from)), from...)
	var walk func(axis int, dst, src []byte)
	walk = func(axis int, dst, src []byte) {
		if slices.Equal(f[axis:], to[axis:]) {
			copyParts(p, dst, src)
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
				copyParts(p, dst[i:], dst[:i])
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

// copyParts is copy in parts of about a millisecond, between which it checks whether p is stopped.
func copyParts(p *kernel.Pool, dst, src []byte) {
	const part = 4 << 20
	for n := min(len(dst), len(src)); n > part; n -= part {
		copy(dst[:part], src)
		dst, src = dst[part:], src[part:]
		p.Check()
	}
	copy(dst, src)
}
