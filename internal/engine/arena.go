package engine

import (
	"cmp"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"unsafe"

	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/internal/budget"
)

// buffer is a region of the arena: the memory of one value, or of several that reuse each other's memory or are views
// of one another.
type buffer struct {
	size        int64
	first, last int  // steps between which the content is needed, both included
	root        bool // it holds a root; last is then the end of the program
	off         int64
}

// plan decides which values share memory and assigns each buffer its offset. It returns the size of the arena and the
// total size of all values without sharing. A value that does not fit the budget is refused by name.
func (b *builder) plan() (arena, naive int64, err error) {
	b.liveness()
	var buffers []*buffer
	for i, s := range b.steps {
		b.turn()
		for k, v := range s.out {
			b.turn()
			if v == nil || v.kind != placed || v.bytes == 0 {
				continue
			}
			naive += align(v.bytes)
			if k == 0 && (b.view(s, v) || takeOver(s, v, i)) {
				continue
			}
			if err := budget.Fits(v.bytes); err != nil {
				return 0, 0, fmt.Errorf("engine: %s: shape %v of %v %w", s.name, v.shape, v.dtype, err)
			}
			v.buf = &buffer{size: align(v.bytes), first: i, last: max(i, v.last), root: v.root}
			buffers = append(buffers, v.buf)
		}
	}
	arena = b.fit(buffers)
	b.findHoles(buffers, arena)
	for i, s := range b.steps {
		b.turn()
		if s.kind == kernelStep {
			s.last = b.lastReads(s, i)
		}
	}
	return arena, naive, nil
}

// lastReads reports for each input of step i whether its memory is free for other values afterwards.
func (b *builder) lastReads(s *step, i int) []bool {
	operands := make(map[*buffer]int, len(s.in)+len(s.out))
	for _, list := range [][]*value{s.in, s.out} {
		for _, v := range list {
			b.turn()
			if v != nil && v.buf != nil {
				operands[v.buf]++
			}
		}
	}
	last := make([]bool, len(s.in))
	for k, v := range s.in {
		b.turn()
		last[k] = v != nil && v.buf != nil && v.buf.last == i && operands[v.buf] == 1
	}
	return last
}

// liveness finds the last reader of each value, and the steps after which heap values can be released.
func (b *builder) liveness() {
	for i, s := range b.steps {
		b.turn()
		for _, v := range s.in {
			b.turn()
			if v != nil {
				v.last = i
			}
		}
	}
	for i, s := range b.steps {
		b.turn()
		for _, v := range s.out {
			b.turn()
			if v != nil && v.root {
				v.last = len(b.steps)
			} else if v != nil && v.last < i {
				v.last = i
			}
			if v != nil && v.kind == heap && !v.root {
				b.steps[v.last].done = append(b.steps[v.last].done, v)
			}
		}
	}
}

// view lets output 0 of a View core share the memory of input 0. A root does not share with memory from outside of
// the program nor with another root: its reader may write to it.
func (b *builder) view(s *step, v *value) bool {
	if s.kind != kernelStep || !s.core.View || len(s.in) == 0 || s.in[0] == nil {
		return false
	}
	for _, other := range s.out[1:] {
		b.turn()
		if other != nil {
			return false
		}
	}
	in := s.in[0]
	if in.bytes != v.bytes || in.dtype != v.dtype {
		return false
	}
	switch in.kind {
	case source, borrowed:
		if v.root {
			return false
		}
		v.kind, s.kind = borrowed, viewStep
		return true
	case placed:
		if v.root && in.buf.root {
			return false
		}
		s.kind = deadStep
		in.buf.join(v)
		return true
	}
	return false
}

// takeOver lets output 0 of step i reuse the memory of an input whose last reader is that step.
func takeOver(s *step, v *value, i int) bool {
	var candidates []int
	switch s.kind {
	case kernelStep:
		candidates = s.core.InPlace
	case sumStep:
		candidates = []int{0, 1}
	}
	for _, k := range candidates {
		if k < 0 || k >= len(s.in) || s.in[k] == nil {
			continue
		}
		in := s.in[k]
		if in.buf == nil || in.buf.last > i || in.bytes != v.bytes || in.dtype != v.dtype {
			continue
		}
		if sharers(s, in.buf) == 1 {
			in.buf.join(v)
			return true
		}
	}
	return false
}

// sharers counts the operands of s in buffer buf.
func sharers(s *step, buf *buffer) (n int) {
	for _, list := range [][]*value{s.in, s.out} {
		for _, v := range list {
			if v != nil && v.buf == buf {
				n++
			}
		}
	}
	return n
}

func (b *buffer) join(v *value) {
	v.buf = b
	b.last = max(b.last, v.last)
	b.root = b.root || v.root
}

// mostCompared is how many buffers are placed one by one, each compared with all others that are alive at the same
// time: the work is quadratic in their number.
const mostCompared = 8192

// fit gives each buffer an offset such that buffers alive at the same time do not overlap: the largest first, each
// into the smallest gap that is large enough. Beyond mostCompared, buffers are placed by size only. It returns the
// total size.
func (b *builder) fit(buffers []*buffer) (total int64) {
	order := slices.Clone(buffers)
	slices.SortStableFunc(order, b.turning(func(a, b *buffer) int { return cmp.Compare(b.size, a.size) }))
	few := order[:min(len(order), mostCompared)]
	total = b.fitClosely(few)
	return b.fitBySize(order[len(few):], total)
}

// turning is compare, which counts a turn for each comparison.
func (b *builder) turning(compare func(x, y *buffer) int) func(x, y *buffer) int {
	return func(x, y *buffer) int {
		b.turn()
		return compare(x, y)
	}
}

// fitBySize places buffers from an offset on, reusing the memory of buffers of the same size class, and returns their
// end.
func (b *builder) fitBySize(buffers []*buffer, end int64) int64 {
	slices.SortStableFunc(buffers, b.turning(func(a, b *buffer) int { return cmp.Compare(a.first, b.first) }))
	byEnd := slices.SortedStableFunc(slices.Values(buffers), b.turning(func(a, b *buffer) int { return cmp.Compare(a.last, b.last) }))
	class := func(x *buffer) int64 { // the size, rounded up to four bits
		unit := int64(1) << max(0, bits.Len64(uint64(x.size))-4)
		return (x.size + unit - 1) / unit * unit
	}
	vacant := map[int64][]int64{}
	for _, x := range buffers {
		b.turn()
		for ; byEnd[0].last < x.first; byEnd = byEnd[1:] {
			c := class(byEnd[0])
			vacant[c] = append(vacant[c], byEnd[0].off)
		}
		c := class(x)
		if list := vacant[c]; len(list) > 0 {
			x.off, vacant[c] = list[len(list)-1], list[:len(list)-1]
		} else {
			x.off, end = end, end+c
		}
	}
	return end
}

// fitClosely places buffers, which are sorted by size.
func (b *builder) fitClosely(order []*buffer) (total int64) {
	var fixed []*buffer // by offset
	for _, x := range order {
		b.did(1 + len(fixed)/64)
		const none = int64(-1)
		best, slack, end := none, int64(0), int64(0)
		for _, f := range fixed {
			if f.last < x.first || x.last < f.first {
				continue
			}
			if gap := f.off - end; gap >= x.size && (best == none || gap-x.size < slack) {
				best, slack = end, gap-x.size
			}
			end = max(end, f.off+f.size)
		}
		if best == none {
			best = end
		}
		x.off = best
		total = max(total, x.off+x.size)
		at, _ := slices.BinarySearchFunc(fixed, x, func(a, b *buffer) int { return cmp.Compare(a.off, b.off) })
		fixed = slices.Insert(fixed, at, x)
	}
	return total
}

// header returns a tensor of that type and shape whose elements are stored in mem.
func header(dt tensor.Dtype, shape tensor.Shape, mem []byte) *tensor.Dense {
	elems := reflect.MakeSlice(reflect.SliceOf(dt.Type), 0, 0)
	if n := len(mem) / int(dt.Size()); n > 0 {
		elems = reflect.SliceAt(dt.Type, unsafe.Pointer(unsafe.SliceData(mem)), n)
	}
	return tensor.New(tensor.WithBacking(elems.Interface()), tensor.WithShape(shape...))
}
