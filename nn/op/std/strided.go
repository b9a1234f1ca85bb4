package std

import (
	"unsafe"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// strided is a walk through a tensor: element (i0, i1, …) of a row-major block of the given shape
// is at offset + Σ strides[k]·ik there. Strides count elements and may be 0 or negative.
type strided struct {
	shape, strides []int
	offset         int
}

const maxStrided = 24 // axes that a walk takes after merging

// merged returns the same walk with axes of length 1 dropped and neighbours joined where that works.
func (s strided) merged(c *op.Call) (strided, error) {
	m := strided{offset: s.offset}
	for k, n := range s.shape {
		if n == 0 {
			return strided{shape: []int{0}, strides: []int{1}}, nil
		}
		if n == 1 {
			continue
		}
		if j := len(m.shape) - 1; j >= 0 && m.strides[j] == s.strides[k]*n {
			m.shape[j] *= n
			m.strides[j] = s.strides[k]
			continue
		}
		m.shape = append(m.shape, n)
		m.strides = append(m.strides, s.strides[k])
	}
	if len(m.shape) == 0 {
		m.shape, m.strides = []int{1}, []int{1}
	}
	if len(m.shape) > maxStrided {
		return m, c.Errorf("moves elements along %d axes, at most %d are possible", len(m.shape), maxStrided)
	}
	return m, nil
}

// rowStrides returns the strides of a contiguous tensor.
func rowStrides(shape []int) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// maxRun is the number of elements of a run at most: so long rows are shared among workers, and a run that is
// canceled ends soon.
const maxRun = 1 << 15

// runs calls f for every run of elements, a row (the last axis) of the block or a part of a long one: n elements from
// number from on in the block, the first of which is at offset at.
func (s strided) runs(p *kernel.Pool, f func(from, n, at int)) {
	s.ranges(p, func(lo, hi int) { s.some(lo, hi, f) })
}

// ranges calls f for ranges of runs on the workers of p.
func (s strided) ranges(p *kernel.Pool, f func(lo, hi int)) {
	last := len(s.shape) - 1
	n := s.shape[last]
	if n == 0 {
		return
	}
	count := (n + maxRun - 1) / maxRun
	for _, n := range s.shape[:last] {
		count *= n
	}
	p.Range(count, max(1, 8192/n), f)
}

// some calls f for the runs from lo to hi.
func (s strided) some(lo, hi int, f func(from, n, at int)) {
	last := len(s.shape) - 1
	n, step := s.shape[last], s.strides[last]
	parts := (n + maxRun - 1) / maxRun
	var index [maxStrided]int
	at, row, part := s.offset, lo/parts, lo%parts
	for k, r := last-1, row; k >= 0; k-- {
		index[k] = r % s.shape[k]
		r /= s.shape[k]
		at += index[k] * s.strides[k]
	}
	for range hi - lo {
		first := part * maxRun
		f(row*n+first, min(n-first, maxRun), at+first*step)
		if part++; part < parts {
			continue
		}
		part = 0
		row++
		for k := last - 1; k >= 0; k-- {
			at += s.strides[k]
			if index[k]++; index[k] < s.shape[k] {
				break
			}
			at -= s.shape[k] * s.strides[k]
			index[k] = 0
		}
	}
}

// readStrided collects the walk through src in dst, row-major.
func readStrided[E any](p *kernel.Pool, s strided, dst, src []E) {
	step := s.strides[len(s.strides)-1]
	s.runs(p, func(from, n, at int) {
		d := dst[from : from+n]
		switch step {
		case 1:
			copy(d, src[at:at+n])
		case 0:
			v := src[at]
			for i := range d {
				d[i] = v
			}
		default:
			for i := range d {
				d[i] = src[at]
				at += step
			}
		}
	})
}

// writeStrided scatters src, row-major, along the walk through dst, which must not visit an element twice.
func writeStrided[E any](p *kernel.Pool, s strided, dst, src []E) {
	step := s.strides[len(s.strides)-1]
	s.runs(p, func(from, n, at int) {
		some := src[from : from+n]
		if step == 1 {
			copy(dst[at:at+n], some)
			return
		}
		for _, v := range some {
			dst[at] = v
			at += step
		}
	})
}

// read is readStrided on elements of size bytes.
func (s strided) read(x *op.Exec, dst, src []byte, size int) {
	switch p := pool(x); size {
	case 1:
		readStrided(p, s, dst, src)
	case 2:
		readStrided(p, s, words[uint16](dst), words[uint16](src))
	case 4:
		readStrided(p, s, words[uint32](dst), words[uint32](src))
	case 8:
		readStrided(p, s, words[uint64](dst), words[uint64](src))
	case 16:
		readStrided(p, s, words[[2]uint64](dst), words[[2]uint64](src))
	}
}

// reading returns the kernel that reads the first input in this order.
func (s strided) reading(c *op.Call) op.Kernel {
	size := c.In[0].DType.Size()
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		s.read(x, out[0].Raw, in[0].Raw, size)
		return nil
	}
}

// write is writeStrided on elements of size bytes.
func (s strided) write(x *op.Exec, dst, src []byte, size int) {
	switch p := pool(x); size {
	case 1:
		writeStrided(p, s, dst, src)
	case 2:
		writeStrided(p, s, words[uint16](dst), words[uint16](src))
	case 4:
		writeStrided(p, s, words[uint32](dst), words[uint32](src))
	case 8:
		writeStrided(p, s, words[uint64](dst), words[uint64](src))
	case 16:
		writeStrided(p, s, words[[2]uint64](dst), words[[2]uint64](src))
	}
}

// words sees bytes as elements of another size. Tensors are aligned for their element type.
func words[E any](b []byte) []E {
	var zero E
	return unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}
