package kernel

// lattice is the matrix whose product with the weights is a convolution, never
// stored as a whole. Its rows are (channel, tap), its columns (image, grid point);
// an element is x at grid point*stride + tap, or 0 outside of x.
type lattice[T Float] struct {
	x       []T
	channel int // elements of x from channel to channel
	image   int // and from image to image
	in      triple
	grid    triple
	stride  triple
	taps    []triple
	columns int // images times grid points
}

// octet is eight neighbouring columns: where the tap (0, 0, 0) would read, and for
// the current tap which lanes lie inside of x.
type octet struct {
	offset int      // of the image of the first column in x
	index  [8]int32 // from there
	at     [3][8]int32
	lo, hi [3]int32 // smallest and largest of at
	live   int      // columns that exist
	run    bool     // index counts up by one
	first  int      // lanes of the first of two runs, 0 where it takes more than two
	jump   int      // from where the first run would go on to the second
	mask   [8]int32
}

// aim sets o to columns j to j+8.
func (s *lattice[T]) aim(j int, o *octet) {
	per := s.grid.size()
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

// whole has all lanes inside.
var whole = [8]int32{-1, -1, -1, -1, -1, -1, -1, -1}

// tap sets the mask for a tap and tells whether any lane is inside.
func (s *lattice[T]) tap(t triple, o *octet) bool {
	var in, out = true, false
	for d := range 3 {
		v, n := int32(t[d]), int32(s.in[d])
		in = in && o.lo[d]+v >= 0 && o.hi[d]+v < n
		out = out || o.hi[d]+v < 0 || o.lo[d]+v >= n
	}
	if out {
		return false
	}
	if in && o.live == 8 {
		o.mask = whole
		return true
	}
	tz, ty, tx := int32(t[0]), int32(t[1]), int32(t[2])
	d, h, w := uint32(s.in[0]), uint32(s.in[1]), uint32(s.in[2])
	any := int32(0)
	for q := range o.mask {
		o.mask[q] = 0
		if q < o.live && uint32(o.at[0][q]+tz) < d && uint32(o.at[1][q]+ty) < h && uint32(o.at[2][q]+tx) < w {
			o.mask[q] = -1
		}
		any |= o.mask[q]
	}
	return any != 0
}

// copy8 writes what o's columns read through a tap, for n channels from c on, to
// places that are ld elements apart.
func (s *lattice[T]) copy8(o *octet, t triple, c, n int, dst []T, ld int) {
	_ = dst[(n-1)*ld+7]
	if !s.tap(t, o) {
		for i := range n {
			clear(dst[i*ld:][:8])
		}
		return
	}
	x := s.x[o.offset+c*s.channel:]
	shift := (t[0]*s.in[1]+t[1])*s.in[2] + t[2]
	if single[T]() && simd {
		px, pd := &as32(x)[0], &as32(dst)[0]
		if o.run {
			packRun8(n, px, shift+int(o.index[0]), s.channel*4, &o.mask[0], pd, ld*4)
		} else if o.first > 0 {
			var second [8]int32
			copy(second[o.first:], o.mask[o.first:])
			clear(o.mask[o.first:])
			packRuns8(n, px, shift+int(o.index[0]), s.channel*4, &o.mask[0], pd, ld*4, &second[0], o.jump)
		} else {
			packGather8(n, px, shift, s.channel*4, &o.index[0], &o.mask[0], pd, ld*4)
		}
		return
	}
	for i := range n {
		d := dst[i*ld:][:8]
		for q := range d {
			d[q] = 0
			if o.mask[q] != 0 {
				d[q] = x[i*s.channel+shift+int(o.index[q])]
			}
		}
	}
}

// rows calls f for each tap with the rows in [l, l+n) that it has: count of them,
// the first at l+skip, for channels from c on.
func (s *lattice[T]) rows(l, n int, f func(tap triple, c, count, skip int)) {
	k := len(s.taps)
	c0, t0 := l/k, l%k
	each, more := n/k, n%k
	for t, tap := range s.taps {
		c, skip := c0, t-t0
		if skip < 0 {
			c, skip = c0+1, skip+k
		}
		count := each
		if skip < more {
			count++
		}
		if count > 0 {
			f(tap, c, count, skip)
		}
	}
}

// copy16 is copy8 for two octets that together read one run.
func (s *lattice[T]) copy16(o, o2 *octet, t triple, c, n int, dst []T, ld int) {
	_ = dst[(n-1)*ld+nr-1]
	in, in2 := s.tap(t, o), s.tap(t, o2)
	if !in && !in2 {
		for i := range n {
			clear(dst[i*ld:][:nr])
		}
		return
	}
	if !in {
		o.mask = [8]int32{}
	}
	if !in2 {
		o2.mask = [8]int32{}
	}
	shift := (t[0]*s.in[1]+t[1])*s.in[2] + t[2] + int(o.index[0])
	x := as32(s.x[o.offset+c*s.channel:])
	packRun16(n, &x[0], shift, s.channel*4, &o.mask[0], &as32(dst)[0], ld*4, &o2.mask[0])
}

// pack makes the lattice the right operand of a product.
func (s *lattice[T]) pack(l, kc, j, je int, dst []T) {
	var o, o2 octet
	k := len(s.taps)
	for ; j < je; j += nr {
		strip := dst[:kc*nr]
		dst = dst[kc*nr:]
		s.aim(j, &o)
		if j+8 >= je {
			for r := range kc {
				clear(strip[r*nr+8:][:8])
			}
			s.rows(l, kc, func(tap triple, c, count, skip int) {
				s.copy8(&o, tap, c, count, strip[skip*nr:], k*nr)
			})
			continue
		}
		s.aim(j+8, &o2)
		if o.run && o2.run && o.offset+int(o.index[0])+8 == o2.offset+int(o2.index[0]) && single[T]() && simd {
			s.rows(l, kc, func(tap triple, c, count, skip int) {
				s.copy16(&o, &o2, tap, c, count, strip[skip*nr:], k*nr)
			})
			continue
		}
		s.rows(l, kc, func(tap triple, c, count, skip int) {
			s.copy8(&o, tap, c, count, strip[skip*nr:], k*nr)
			s.copy8(&o2, tap, c, count, strip[skip*nr+8:], k*nr)
		})
	}
}

// fill makes the lattice the left operand of a product: rows (channel, tap), columns
// l to l+kc.
func (s *lattice[T]) fill(i, rows, l, kc int, dst []T, ld int) {
	var o octet
	k := len(s.taps)
	for q := 0; q < kc; q += 8 {
		s.aim(l+q, &o)
		s.rows(i, rows, func(tap triple, c, count, skip int) {
			s.copy8(&o, tap, c, count, dst[skip*ld+q:], k*ld)
		})
	}
}
