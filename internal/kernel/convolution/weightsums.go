package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/layout"
)

// The gradient with respect to the weights is a sum over points. The kernel multiplies six rows of the left operand,
// which it reads in place (the input with its borders, one row for each channel and tap), by vectors over the
// channels of the right operand, which is transposed block by block to make its channels contiguous.

// weightSums computes such sums: sum[row][column] = Σ x[row's channel, point+tap] * b[column, point].
type weightSums[T kernel.Float] struct {
	pool            *kernel.Pool // the worker pool to run on
	n               int
	inputs, columns int // channels of x and of b
	in, grid        Triple
	stride          Triple
	taps            []Triple
	x, b            []T
	imageX, imageB  int    // strides between images
	groupX, groupB  int    // strides between groups
	stride2         Triple // if set, b is every other point of every other row of planes of this size
	images, rows    int    // images and rows of a block
	cacheBlocks     int
	cuts            int // number of blocks of an image
	flat            bool
	inPlace         bool
	layout          planes
}

const (
	weightRows = 6
	// weightPoints is the number of points that a kernel processes at a time, so that a column panel of b for AVX2 stays
	// in the L1 cache. For AVX-512, whose panel is four times as wide, reading it from L2 is as fast.
	weightPoints = 256
	// weightLeast is the minimum number of points of a plane for which planes are not concatenated.
	weightLeast = 64
)

// weightPanel returns the maximum number of columns of a kernel.
func weightPanel() int { return tileLanes() * tileLanes() / 4 }

// width returns the number of columns of sum, and height the number of rows.
func (s *weightSums[T]) width() int  { return kernel.CeilDiv(s.columns, tileLanes()) * tileLanes() }
func (s *weightSums[T]) height() int { return s.inputs * len(s.taps) }

// plan divides the points into blocks whose input and transposed right operand fit into the L2
// cache.
func (s *weightSums[T]) plan(threads int) {
	s.flat = len(s.taps) == 1 && s.taps[0] == Triple{} && s.stride == Triple{1, 1, 1} && s.in == s.grid
	if s.flat {
		s.grid = Triple{1, 1, s.in.Size()}
		s.in = s.grid
	}
	s.layout.describe(s.in, s.stride, s.taps)
	s.inPlace = s.flat && s.in.Size() >= weightLeast
	fits := func(images, rows int) bool {
		s.images, s.rows = images, rows
		s.layout.cut(images, rows, s.grid[2], true, true, s.taps)
		x := s.inputs * s.layout.channel
		return (s.inPlace || x <= cacheBlockElements) && images*rows*s.grid[2]*s.width() <= cacheBlockElements
	}
	rows := s.grid[1]
	for cuts := 2; !fits(1, rows) && rows > 1; cuts++ {
		rows = kernel.CeilDiv(s.grid[1], cuts)
	}
	if rows == s.grid[1] && !s.inPlace {
		images := 1
		for images < kernel.CeilDiv(s.n, threads) && images*s.grid.Size() < 4*weightPoints && fits(images+1, rows) {
			images++
		}
		fits(kernel.CeilDiv(s.n, kernel.CeilDiv(s.n, images)), rows)
	}
	s.cuts = s.grid[0] * kernel.CeilDiv(s.grid[1], s.rows)
	s.cacheBlocks = kernel.CeilDiv(s.n, s.images) * s.cuts
}

// add sets sum, whose first row is that of channel c0, to the sums over the blocks p0 to p1 for the
// channels c0 to c1 of a group of x.
func (s *weightSums[T]) add(group, p0, p1, c0, c1 int, sum []T) {
	w := directWorkers.Get().(*directWorker)
	defer directWorkers.Put(w)
	l, space, width := &s.layout, s.grid.Size(), s.width()
	size, channel := l.size(c1-c0), l.channel
	if s.inPlace {
		size, channel = 0, s.in.Size()
	}
	w.off = w.off[:0]
	for c := range c1 - c0 {
		for _, t := range l.taps {
			w.off = append(w.off, int32(c*channel+t))
		}
	}
	k := len(w.off)
	for len(w.off)%weightRows != 0 {
		w.off = append(w.off, 0)
	}
	points, apart := s.images*s.rows*s.grid[2], 0
	if s.stride2 != (Triple{}) {
		apart = points * s.columns
	}
	buffer := kernel.Borrow[T](size + points*width + weightRows*width + apart)
	defer kernel.GiveBack(buffer)
	kernel.Clear(s.pool, (*buffer)[:size+points*width])
	cacheBlock, room := cut(*buffer, size)
	transposed, room := cut(room, points*width)
	last, room := cut(room, weightRows*width) // buffer for the last rows of sum, filled up to whole kernels
	if p0 == p1 {
		clear(sum[:k*width])
	}
	for p := p0; p < p1; p++ {
		s.pool.Check()
		image, r := p/s.cuts*s.images, p%s.cuts
		per := s.cuts / s.grid[0]
		z, y := r/per, r%per*s.rows
		images, rows := min(s.images, s.n-image), min(s.rows, s.grid[1]-y)
		x := s.x[image*s.imageX+group*s.groupX+c0*s.in.Size():]
		if !s.inPlace {
			load(l, x, source{images, c1 - c0, s.imageX, s.in.Size(), z, y, 0}, cacheBlock)
			x = cacheBlock
		}
		b := s.b[image*s.imageB+group*s.groupB:]
		if apart > 0 {
			s.gather(b, images, room)
			s.transpose(room, images*space, 0, 1, images*space, transposed)
		} else {
			s.transpose(b[(z*s.grid[1]+y)*s.grid[2]:], space, s.imageB, images, rows*s.grid[2], transposed)
		}
		var later prefetch[T]
		if p+1 < p1 && s.cuts == 1 && s.groupX == s.imageX {
			first := image + images
			end := min(first+s.images, s.n)
			tiles := kernel.CeilDiv(s.columns, weightPanel()) * kernel.CeilDiv(k, weightRows)
			later = newPrefetch(tiles*weightFetches(images*rows, s.grid[2]), s.b[first*s.imageB:end*s.imageB], s.x[first*s.imageX:end*s.imageX])
		}
		s.multiply(x, w.off, k, images, rows, transposed, sum, last, p > p0, &later)
	}
	if rows := k % weightRows; p0 < p1 && rows > 0 {
		copy(sum[(k-rows)*width:k*width], last)
	}
}

// gather concatenates the points of the given number of images with stride 2: [column][image, point].
func (s *weightSums[T]) gather(b []T, images int, dst []T) {
	high, wide, space := kernel.CeilDiv(s.stride2[1], 2), kernel.CeilDiv(s.stride2[2], 2), s.grid.Size()
	for i := range images {
		pick(s.columns, high, wide, b[i*s.imageB:], s.stride2.Size(), 2*s.stride2[2], 2, dst[i*space:], images*space, wide)
	}
}

// transpose copies b, with strides space between channels and image between images, into column panels of
// [image, point][column].
func (s *weightSums[T]) transpose(b []T, space, image, images, points int, dst []T) {
	pace := s.pool.Pace()
	for first := 0; first < s.columns; first += weightPanel() {
		cols := min(weightPanel(), s.columns-first)
		width := min(weightPanel(), s.width()-first)
		for i := range images {
			for j := 0; j < cols; j += 8 {
				pace.Did(points)
				transposeRows(min(8, cols-j), points, b[i*image+(first+j)*space:], space, dst[i*points*width+j:], width)
			}
		}
		dst = dst[images*points*width:]
	}
}

// transposeRows transposes up to 8 rows of n elements with stride ld into columns of a matrix with the given width.
func transposeRows[T kernel.Float](rows, n int, src []T, ld int, dst []T, width int) {
	_, _ = src[(rows-1)*ld+n-1], dst[(n-1)*width+rows-1]
	done := 0
	if rows == 8 && n >= 8 && kernel.Has(kernel.TurnGroup) && kernel.IsFloat32[T]() {
		layout.TransposeRows8(n/8, &kernel.Float32s(src)[0], ld*4, &kernel.Float32s(dst)[0], width*4)
		done = n &^ 7
	}
	for r := range rows {
		for q := done; q < n; q++ {
			dst[q*width+r] = src[r*ld+q]
		}
	}
}

// multiply adds the products of a block to height rows of sum, or sets them. Rows that do not fill a
// kernel are written to last instead.
func (s *weightSums[T]) multiply(x []T, off []int32, height, images, rows int, transposed, sum, last []T, add bool, later *prefetch[T]) {
	l, n, width := &s.layout, s.grid[2], s.width()
	blockRows, blockImages, cols := rows, 1, n
	switch points := rows * n; {
	case s.inPlace:
		cols = kernel.CeilDiv(n, kernel.CeilDiv(n, weightPoints))
	case points > weightPoints:
		blockRows = kernel.CeilDiv(rows, kernel.CeilDiv(points, weightPoints))
	default:
		blockImages = weightPoints / points
	}
	pace := s.pool.Pace()
	for first := 0; first < s.columns; first += weightPanel() {
		w := min(weightPanel(), s.width()-first)
		add := add
		for i := 0; i < images; i += blockImages {
			imgs := min(blockImages, images-i)
			for r := 0; r < rows; r += blockRows {
				rs := min(blockRows, rows-r)
				for q := 0; q < n; q += cols {
					cs := min(cols, n-q)
					xb := x[i*l.image+r*l.row+q:]
					b := transposed[((i*rows+r)*n+q)*w:]
					for k := 0; k < height; k += weightRows {
						pace.Did(weightRows*min(width, 512) + imgs*rs*cs*weightRows*w/64) // its rows may be in pages that are touched for the first time
						to := last
						if k+weightRows <= height {
							to = sum[k*width:]
						}
						weightTile(imgs, rs, cs, xb, off[k:k+weightRows], l.row-n, l.image-rs*l.row, b, w, to[first:], width, add, later)
					}
					add = true
				}
			}
		}
		transposed = transposed[images*rows*n*w:]
	}
}

// weightTile computes six rows of w columns of c with row stride ldc, see convWeightZ4. It prefetches a part of later unless that
// is nil.
func weightTile[T kernel.Float](images, rows, n int, x []T, off []int32, jump, imageJump int, b []T, w int, c []T, ldc int, add bool, later *prefetch[T]) {
	_, _ = b[images*rows*n*w-1], c[(weightRows-1)*ldc+w-1]
	if !kernel.Has(kernel.ConvGroup) || !kernel.IsFloat32[T]() {
		weightTileGo(images, rows, n, x, off, jump, imageJump, b, w, c, ldc, add)
		return
	}
	px, po, pb, pc, flag := &kernel.Float32s(x)[0], &off[0], &kernel.Float32s(b)[0], &kernel.Float32s(c)[0], 0
	if add {
		flag = 1
	}
	next, pace := px, 0
	if later != nil {
		next, pace = later.share(weightFetches(images*rows, n), px)
	}
	jump, imageJump, ldc = jump*4, imageJump*4, ldc*4
	switch vecs := w / tileLanes(); {
	case !kernel.AVX512 && vecs == 2:
		convWeightY2(images, rows, n, px, po, jump, imageJump, pb, pc, ldc, flag, next, pace)
	case !kernel.AVX512:
		convWeightY1(images, rows, n, px, po, jump, imageJump, pb, pc, ldc, flag, next, pace)
	case vecs == 4:
		convWeightZ4(images, rows, n, px, po, jump, imageJump, pb, pc, ldc, flag, next, pace)
	case vecs == 3:
		convWeightZ3(images, rows, n, px, po, jump, imageJump, pb, pc, ldc, flag, next, pace)
	case vecs == 2:
		convWeightZ2(images, rows, n, px, po, jump, imageJump, pb, pc, ldc, flag, next, pace)
	default:
		convWeightZ1(images, rows, n, px, po, jump, imageJump, pb, pc, ldc, flag, next, pace)
	}
}

func weightTileGo[T kernel.Float](images, rows, n int, x []T, off []int32, jump, imageJump int, b []T, w int, c []T, ldc int, add bool) {
	for i, o := range off {
		row := c[i*ldc:][:w]
		if !add {
			clear(row)
		}
		at, q := int(o), 0
		for range images {
			for range rows {
				for range n {
					for j, v := range b[q*w:][:w] {
						row[j] += x[at] * v
					}
					at, q = at+1, q+1
				}
				at += jump
			}
			at += imageJump
		}
	}
}
