package engine

import (
	"cmp"
	"slices"
)

// hole is a range of the arena that contains no value during a step.
type hole struct{ off, size int64 }

const (
	smallestHole = 1 << 12 // smaller ones are not used
	mostHoles    = 8       // maximum number per step: the largest are used
)

// free are the ranges of the arena without a live buffer, by offset; adjacent ranges are joined.
type free []hole

// at returns the index of the first range that starts at off or after it.
func (f free) at(off int64) int {
	i, _ := slices.BinarySearchFunc(f, off, func(h hole, off int64) int { return cmp.Compare(h.off, off) })
	return i
}

// take removes the memory of b, which is within one range.
func (f *free) take(b *buffer) {
	i := f.at(b.off+1) - 1
	h := (*f)[i]
	before, after := hole{h.off, b.off - h.off}, hole{b.off + b.size, h.off + h.size - b.off - b.size}
	switch {
	case before.size > 0 && after.size > 0:
		(*f)[i] = before
		*f = slices.Insert(*f, i+1, after)
	case before.size > 0:
		(*f)[i] = before
	case after.size > 0:
		(*f)[i] = after
	default:
		*f = slices.Delete(*f, i, i+1)
	}
}

// give returns the memory of b.
func (f *free) give(b *buffer) {
	i, h := f.at(b.off), hole{b.off, b.size}
	if i > 0 && (*f)[i-1].off+(*f)[i-1].size == h.off {
		i--
		h = hole{(*f)[i].off, (*f)[i].size + h.size}
		*f = slices.Delete(*f, i, i+1)
	}
	if i < len(*f) && h.off+h.size == (*f)[i].off {
		(*f)[i] = hole{h.off, h.size + (*f)[i].size}
		return
	}
	*f = slices.Insert(*f, i, h)
}

// largest lists the largest ranges.
func (f free) largest() (list []hole) {
	for _, h := range f {
		if h.size >= smallestHole {
			list = append(list, h)
		}
	}
	slices.SortStableFunc(list, func(a, b hole) int { return cmp.Compare(b.size, a.size) })
	return slices.Clip(list[:min(len(list), mostHoles)])
}

// findHoles gives each step that runs a kernel the largest ranges of the arena that no live buffer covers.
func (b *builder) findHoles(buffers []*buffer, arena int64) {
	n := len(b.steps) + 1 // a root's buffer ends after the last step
	begin, end := make([][]*buffer, n), make([][]*buffer, n)
	for _, x := range buffers {
		b.turn()
		begin[x.first] = append(begin[x.first], x)
		end[x.last] = append(end[x.last], x)
	}
	f := free{}
	if arena > 0 {
		f = free{{0, arena}}
	}
	for i, s := range b.steps {
		b.did(1 + len(f)/64)
		if i > 0 {
			for _, x := range end[i-1] {
				b.did(1 + len(f)/64)
				f.give(x)
			}
		}
		for _, x := range begin[i] {
			b.did(1 + len(f)/64)
			f.take(x)
		}
		if s.kind == kernelStep {
			s.holes = f.largest()
		}
	}
}
