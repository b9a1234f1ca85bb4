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

// octet is eight neighbouring columns.
type octet struct {
	offset int      // of the image of the first column in x
	image  [8]int32 // offset of each column's image from there
	at     [3][8]int32
	live   int // columns that exist
	// what tap sets:
	mask, index [8]int32
	run         bool // index counts up by one
	none        bool // no lane is inside
}

// aim sets o to columns j to j+8.
func (s *lattice[T]) aim(j int, o *octet) {
	per := s.grid.size()
	n, r := j/per, j%per
	z, r := r/(s.grid[1]*s.grid[2]), r%(s.grid[1]*s.grid[2])
	y, x := r/s.grid[2], r%s.grid[2]
	o.live = min(8, s.columns-j)
	o.offset = n * s.image
	shift := 0
	for q := range o.live {
		o.image[q] = int32(shift)
		o.at[0][q], o.at[1][q], o.at[2][q] = int32(z*s.stride[0]), int32(y*s.stride[1]), int32(x*s.stride[2])
		if x++; x < s.grid[2] {
			continue
		}
		x = 0
		if y++; y < s.grid[1] {
			continue
		}
		y = 0
		if z++; z < s.grid[0] {
			continue
		}
		z = 0
		shift += s.image
	}
}

// tap works out what o's columns read through a tap.
func (s *lattice[T]) tap(t triple, o *octet) {
	h, w := int32(s.in[1]), int32(s.in[2])
	tz, ty, tx := int32(t[0]), int32(t[1]), int32(t[2])
	d := uint32(s.in[0])
	o.run, o.none = true, true
	for q := range o.live {
		z, y, x := o.at[0][q]+tz, o.at[1][q]+ty, o.at[2][q]+tx
		o.index[q] = o.image[q] + (z*h+y)*w + x
		o.mask[q] = 0
		if uint32(z) < d && uint32(y) < uint32(h) && uint32(x) < uint32(w) {
			o.mask[q] = -1
			o.none = false
		}
		if o.index[q] != o.index[0]+int32(q) {
			o.run = false
		}
	}
	for q := o.live; q < 8; q++ {
		o.mask[q] = 0
	}
}

// copy8 writes o's columns of the current tap for n channels from c on, ld elements apart.
func (s *lattice[T]) copy8(o *octet, c, n int, dst []T, ld int) {
	_ = dst[(n-1)*ld+7]
	if o.none {
		for i := range n {
			clear(dst[i*ld:][:8])
		}
		return
	}
	x := s.x[o.offset+c*s.channel:]
	if single[T]() && simd {
		px, pd := &as32(x)[0], &as32(dst)[0]
		if o.run {
			packRun8(n, px, int(o.index[0]), s.channel*4, &o.mask[0], pd, ld*4)
		} else {
			packGather8(n, px, 0, s.channel*4, &o.index[0], &o.mask[0], pd, ld*4)
		}
		return
	}
	for i := range n {
		d := dst[i*ld:][:8]
		for q := range d {
			d[q] = 0
			if o.mask[q] != 0 {
				d[q] = x[i*s.channel+int(o.index[q])]
			}
		}
	}
}

// rows calls f for each tap with the rows in [l, l+n) that it has: count of them,
// the first at l+skip, for channels from c on.
func (s *lattice[T]) rows(l, n int, f func(tap triple, c, count, skip int)) {
	k := len(s.taps)
	for t, tap := range s.taps {
		c := cdiv(l-t, k) // the first channel with row c*k+t ≥ l
		if l < t {
			c = 0
		}
		skip := c*k + t - l
		if skip < n {
			f(tap, c, cdiv(n-skip, k), skip)
		}
	}
}

// pack makes the lattice the right operand of a product.
func (s *lattice[T]) pack(l, kc, j, je int, dst []T) {
	var o octet
	k := len(s.taps)
	for ; j < je; j += nr {
		strip := dst[:kc*nr]
		dst = dst[kc*nr:]
		for half := 0; half < nr; half += 8 {
			if j+half >= je {
				for r := range kc {
					clear(strip[r*nr+half:][:8])
				}
				continue
			}
			s.aim(j+half, &o)
			s.rows(l, kc, func(tap triple, c, count, skip int) {
				s.tap(tap, &o)
				s.copy8(&o, c, count, strip[skip*nr+half:], k*nr)
			})
		}
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
			s.tap(tap, &o)
			s.copy8(&o, c, count, dst[skip*ld+q:], k*ld)
		})
	}
}
