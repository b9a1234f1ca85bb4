package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/matmul"
)

// im2col is the matrix whose product with the weights is a convolution. It is never stored as a whole: Pack and
// Fill compute blocks of it. Its rows are (channel, tap), its columns (image, grid point); an element is x at
// grid point*stride + tap, or 0 outside of x.
type im2col[T kernel.Float] struct {
	x       []T
	channel int // stride between channels of x
	image   int // stride between images of x
	in      Triple
	grid    Triple
	stride  Triple
	taps    []Triple
	columns int // images × grid points
}

// columns8 is a block of eight adjacent columns: the points that their tap (0, 0, 0) reads.
type columns8 struct {
	offset int      // offset in x of the image of the first column
	index  [8]int32 // offsets of the points from there
	at     [3][8]int32
	lo, hi [3]int32 // minimum and maximum of at over the columns
	live   int      // number of columns inside the matrix
	run    bool     // index increases by one per column
	first  int      // number of columns in the first of two runs; 0 if there are more than two
	jump   int      // offset of the second run from the end of the first
}

// aim sets o to the columns j to j+8.
func (s *im2col[T]) aim(j int, o *columns8) {
	per := s.grid.Size()
	n, r := 0, j
	if j >= per {
		n, r = j/per, j%per
	}
	z, r := r/(s.grid[1]*s.grid[2]), r%(s.grid[1]*s.grid[2])
	y, x := r/s.grid[2], r%s.grid[2]
	o.live = min(8, s.columns-j)
	o.offset = n * s.image
	shift := 0
	o.run = true
	runs := 1
	o.first = 8
	pz, py, px := z*s.stride[0], y*s.stride[1], x*s.stride[2]
	o.lo = [3]int32{int32(pz), int32(py), int32(px)}
	o.hi = o.lo
	for q := range o.live {
		o.at[0][q], o.at[1][q], o.at[2][q] = int32(pz), int32(py), int32(px)
		o.index[q] = int32(shift + (pz*s.in[1]+py)*s.in[2] + px)
		if q > 0 && o.index[q] != o.index[q-1]+1 {
			o.run = false
			runs++
			o.first, o.jump = q, int(o.index[q]-o.index[0])-q
		}
		o.hi[2] = max(o.hi[2], int32(px))
		px += s.stride[2]
		if x++; x < s.grid[2] {
			continue
		}
		x, px, o.lo[2] = 0, 0, 0
		py += s.stride[1]
		if y++; y < s.grid[1] {
			o.hi[1] = max(o.hi[1], int32(py))
			continue
		}
		y, py, o.lo[1] = 0, 0, 0
		pz += s.stride[0]
		if z++; z < s.grid[0] {
			o.hi[0] = max(o.hi[0], int32(pz))
			continue
		}
		z, pz, o.lo[0] = 0, 0, 0
		shift += s.image
	}
	if runs > 2 {
		o.first = 0
	}
}

// maxTaps is the maximum number of taps for which a reader is on the stack.
const maxTaps = 64

// reader copies rows of an im2col matrix for eight or sixteen columns at a time.
type reader[T kernel.Float] struct {
	*im2col[T]
	offset      []int       // offsets of the taps in x
	masks       [][16]int32 // for each tap, which lanes are inside of x
	least, most [3]int32    // bounds of each tap's input points
	set         int         // kind of fully inside blocks for which the masks are set; 0: none
}

// reader returns a reader that uses the caller's memory for its taps, if there are at most maxTaps.
func (s *im2col[T]) reader(offset []int, masks [][16]int32) reader[T] {
	n := len(s.taps)
	if n > maxTaps {
		offset, masks = make([]int, n), make([][16]int32, n)
	}
	r := reader[T]{im2col: s, offset: offset[:n], masks: masks[:n]}
	for i, t := range s.taps {
		r.offset[i] = (t[0]*s.in[1]+t[1])*s.in[2] + t[2]
		for d, v := range t {
			if i == 0 || int32(v) < r.least[d] {
				r.least[d] = int32(v)
			}
			if i == 0 || int32(v) > r.most[d] {
				r.most[d] = int32(v)
			}
		}
	}
	return r
}

// inside reports whether all lanes of o are inside of x for every tap.
func (r *reader[T]) inside(o *columns8) bool {
	in := o.live == 8
	for d := range 3 {
		in = in && o.lo[d]+r.least[d] >= 0 && o.hi[d]+r.most[d] < int32(r.in[d])
	}
	return in
}

// aimMasks sets the masks of all taps for lanes from lane (0 or 8) on.
func (r *reader[T]) aimMasks(o *columns8, lane int) {
	d, h, w := uint32(r.in[0]), uint32(r.in[1]), uint32(r.in[2])
	for i, t := range r.taps {
		mask := (*[8]int32)(r.masks[i][lane:])
		var z, y, x int32 = int32(t[0]), int32(t[1]), int32(t[2])
		if o.hi[0]+z < 0 || o.hi[1]+y < 0 || o.hi[2]+x < 0 {
			*mask = [8]int32{}
			continue
		}
		for q := range mask {
			mask[q] = 0
			if q < o.live && uint32(o.at[0][q]+z) < d && uint32(o.at[1][q]+y) < h && uint32(o.at[2][q]+x) < w {
				mask[q] = -1
			}
		}
	}
}

// Kinds of blocks of eight columns that are inside of x: 1 to 8 are two runs, the first of which has that many
// columns; these are the others.
const (
	setScattered = 9
	setPair      = 10
)

// allSet sets all masks to those of a kind, unless they are set already.
func (r *reader[T]) allSet(kind int) {
	if r.set == kind {
		return
	}
	r.set = kind
	var m [16]int32
	lanes := 8
	if kind == setPair {
		lanes = 16
	}
	for q := range lanes {
		m[q] = -1
	}
	for i := range r.masks {
		r.masks[i] = m
		r.separate(i, kind)
	}
}

// separate moves the lanes of the second run, from lane first on, to the second half of mask i.
func (r *reader[T]) separate(i, first int) {
	if first < 1 || first > 8 {
		return
	}
	m := &r.masks[i]
	clear(m[8:])
	copy(m[8+first:], m[first:8])
	clear(m[first:8])
}

// rows8 writes n rows from row l on of the columns of o to dst, with row stride ld.
func (r *reader[T]) rows8(o *columns8, l, n int, dst []T, ld int) {
	taps := len(r.taps)
	c, t := l/taps, l%taps
	_ = dst[(n-1)*ld+7]
	x := r.x[o.offset+c*r.channel:]
	if !kernel.SIMD || !kernel.IsFloat32[T]() {
		r.set = 0
		r.aimMasks(o, 0)
		r.portable8(o, x, t, n, dst, ld)
		return
	}
	kind := o.first
	if kind == 0 {
		kind = setScattered
	}
	if r.inside(o) {
		r.allSet(kind)
	} else {
		r.set = 0
		r.aimMasks(o, 0)
		for i := range r.masks {
			r.separate(i, kind)
		}
	}
	src, to := &kernel.Float32s(x)[0], &kernel.Float32s(dst)[0]
	if kind == setScattered {
		im2colGather8(n, src, 0, r.channel*4, t, taps, &r.offset[0], &r.masks[0][0], to, ld*4, &o.index[0])
		return
	}
	im2colRuns8(n, src, int(o.index[0]), r.channel*4, t, taps, &r.offset[0], &r.masks[0][0], to, ld*4, o.jump)
}

func (r *reader[T]) portable8(o *columns8, x []T, t, n int, dst []T, ld int) {
	channel := 0
	for i := range n {
		d, mask := dst[i*ld:][:8], &r.masks[t]
		for q := range d {
			d[q] = 0
			if mask[q] != 0 {
				d[q] = x[channel+r.offset[t]+int(o.index[q])]
			}
		}
		if t++; t == len(r.taps) {
			t, channel = 0, channel+r.channel
		}
	}
}

// rows16 is rows8 for two blocks of eight columns, which are read as one run where they are contiguous.
func (r *reader[T]) rows16(o, o2 *columns8, l, n int, dst []T, ld int) {
	if !kernel.SIMD || !kernel.IsFloat32[T]() || !o.run || !o2.run || o.offset+int(o.index[0])+8 != o2.offset+int(o2.index[0]) {
		r.rows8(o, l, n, dst, ld)
		r.rows8(o2, l, n, dst[8:], ld)
		return
	}
	taps := len(r.taps)
	c, t := l/taps, l%taps
	_ = dst[(n-1)*ld+15]
	if r.inside(o) && r.inside(o2) {
		r.allSet(setPair)
	} else {
		r.set = 0
		r.aimMasks(o, 0)
		r.aimMasks(o2, 8)
	}
	src := &kernel.Float32s(r.x[o.offset+c*r.channel:])[0]
	im2colRun16(n, src, int(o.index[0]), r.channel*4, t, taps, &r.offset[0], &r.masks[0][0], &kernel.Float32s(dst)[0], ld*4)
}

// Pack packs rows l to l+kc of the columns j to je, as the right operand of a product.
func (s *im2col[T]) Pack(l, kc, j, je int, dst []T) {
	var offset [maxTaps]int
	var masks [maxTaps][16]int32
	r := s.reader(offset[:], masks[:])
	var o, o2 columns8
	for ; j < je; j += matmul.NR {
		colPanel := dst[:kc*matmul.NR]
		dst = dst[kc*matmul.NR:]
		s.aim(j, &o)
		if j+8 < je {
			s.aim(j+8, &o2)
			r.rows16(&o, &o2, l, kc, colPanel, matmul.NR)
			continue
		}
		for q := range kc {
			clear(colPanel[q*matmul.NR+8:][:8])
		}
		r.rows8(&o, l, kc, colPanel, matmul.NR)
	}
}

// Fill writes rows i to i+rows of the columns l to l+kc, as the left operand of a product.
func (s *im2col[T]) Fill(i, rows, l, kc int, dst []T, ld int) {
	var offset [maxTaps]int
	var masks [maxTaps][16]int32
	r := s.reader(offset[:], masks[:])
	var o, o2 columns8
	for q := 0; q < kc; q += 16 {
		s.aim(l+q, &o)
		if q+8 < kc {
			s.aim(l+q+8, &o2)
			r.rows16(&o, &o2, i, rows, dst[q:], ld)
			continue
		}
		r.rows8(&o, i, rows, dst[q:], ld)
	}
}
