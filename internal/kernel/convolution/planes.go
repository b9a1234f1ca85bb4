package convolution

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
)

// planes is the layout of a block of the input of a convolution in which every tap reads at a fixed
// offset from the position of the output point: the rows and columns of the input, padded with zeros
// and grouped by their index modulo the stride. The kernels process such a block as one long row;
// the results between the rows are meaningless and are dropped.
//
// The right border of a row is also the left border of the next. Several images are stacked
// horizontally (the first rows of all images make one long row, and so on) or vertically.
type planes struct {
	in, stride, least  Triple       // size and strides of the whole input, and the smallest tap
	phases             []planePhase // phases (indices modulo the stride) that some tap reads
	images, rows, cols int          // output points of the block
	whole, below       bool         // the block has all columns; images are stacked vertically
	segment            int          // elements of a row of one image
	row, image         int          // strides between rows and between images
	phase, channel     int          // elements of a phase, and of all phases
	taps               []int        // offset of each tap from the output point
}

// planePhase is the input at every stride-th row and column.
type planePhase struct {
	z, y, x    int // position of its first point, less the smallest tap
	rows, cols int // rows and columns that the taps reach from the first output point on, less 1
}

// slack is the number of elements after a block that the kernels may read.
const slack = 64

// describe sets l to the layout for an input with the strides and taps of an im2col matrix. It reuses the memory of the
// previous layout.
func (l *planes) describe(in, stride Triple, taps []Triple) {
	*l = planes{in: in, stride: stride, least: taps[0], phases: l.phases[:0], taps: slices.Grow(l.taps[:0], len(taps))}
	for _, t := range taps {
		for d := range 3 {
			l.least[d] = min(l.least[d], t[d])
		}
	}
	for _, t := range taps {
		ph, at := l.find(t)
		if at == nil {
			l.phases = append(l.phases, ph)
			continue
		}
		at.rows, at.cols = max(at.rows, ph.rows), max(at.cols, ph.cols)
	}
}

// find returns the phase that a tap reads, with the extent that this tap needs, and its index among the
// phases if it is one of them.
func (l *planes) find(t Triple) (planePhase, *planePhase) {
	y, x := t[1]-l.least[1], t[2]-l.least[2]
	ph := planePhase{t[0] - l.least[0], y % l.stride[1], x % l.stride[2], y / l.stride[1], x / l.stride[2]}
	for i := range l.phases {
		if q := &l.phases[i]; q.z == ph.z && q.y == ph.y && q.x == ph.x {
			return ph, q
		}
	}
	return ph, nil
}

// cover returns the range [from, end) of the columns of a phase, starting at x0, that are inside the input; the others
// are 0.
func (l *planes) cover(ph *planePhase, x0, cols int) (from, end int) {
	first, s := x0*l.stride[2]+l.least[2]+ph.x, l.stride[2]
	end = cols + ph.cols
	if first < 0 {
		from = min(kernel.CeilDiv(-first, s), end)
	}
	return from, max(from, min(end, kernel.CeilDiv(l.in[2]-first, s)))
}

// cut sets the size of the blocks: rows and columns of a number of images, stacked horizontally or
// vertically. Adjacent rows share their borders if they are whole.
func (l *planes) cut(images, rows, cols int, whole, below bool, taps []Triple) {
	l.images, l.rows, l.cols, l.whole, l.below = images, rows, cols, whole, below
	most, high := 0, 0
	for _, ph := range l.phases {
		most, high = max(most, ph.cols), max(high, ph.rows)
	}
	shared := most
	for i := range l.phases {
		if !whole {
			shared = 0
		} else if from, end := l.cover(&l.phases[i], 0, cols); from < end {
			shared = min(shared, from, cols+most-end)
		}
	}
	l.segment = cols + most - shared
	if below {
		l.row, l.image = l.segment, l.segment*(rows+high)
		l.phase = l.image * images
	} else {
		l.row, l.image = l.segment*images, l.segment
		l.phase = l.row * (rows + high)
	}
	l.channel = l.phase * len(l.phases)
	l.channel = kernel.CeilDiv(l.channel, 16) * 16
	if l.channel/16%2 == 0 {
		l.channel += 16 // otherwise many channels would map to the same cache sets
	}
	l.taps = l.taps[:0]
	for _, t := range taps {
		ph, at := l.find(t)
		for i := range l.phases {
			if at == &l.phases[i] {
				l.taps = append(l.taps, i*l.phase+ph.rows*l.row+ph.cols)
			}
		}
	}
}

// readInPlace sets l to the layout of blocks that are read in place, which is possible for a single tap without borders.
func (l *planes) readInPlace() {
	l.segment, l.row, l.image = l.in[2], l.in[2], l.in.Size()
}

// point returns the output point at column at, if there is one.
func (l *planes) point(at int) (image, row, x int) {
	if l.below {
		return at / l.image, at % l.image / l.row, at % l.row
	}
	return at % l.row / l.image, at / l.row, at % l.row % l.image
}

// size returns the number of elements of a block with the given number of channels.
func (l *planes) size(channels int) int { return channels*l.channel + l.extent() + l.segment + slack }

// extent returns the number of columns from the first to the last output point.
func (l *planes) extent() int { return (l.rows-1)*l.row + (l.images-1)*l.image + l.cols }

// clean clears the parts of a block that load does not write: borders and slack.
func clean[T kernel.Float](l *planes, channels int, cacheBlock []T) {
	for i := range l.phases {
		ph := &l.phases[i]
		if from, end := l.cover(ph, 0, l.cols); from > 0 || end < l.cols+ph.cols || len(l.phases) > 1 || !l.whole {
			clear(cacheBlock)
			return
		}
	}
	clear(cacheBlock[channels*l.channel:])
}

// source describes the input from which the channels of a block are loaded.
type source struct {
	images, channels int
	image, channel   int // strides between images and between channels
	z, y, x          int // first output point
}

// load copies channels of images to a block. Rows outside the input are set to 0; columns outside it
// must already be 0.
func load[T kernel.Float](l *planes, src []T, from source, dst []T) {
	for i := range l.phases {
		ph := &l.phases[i]
		left, end := l.cover(ph, from.x, l.cols)
		if left == end {
			continue
		}
		n := end - left
		iz := from.z*l.stride[0] + l.least[0] + ph.z
		first := from.y*l.stride[1] + l.least[1] + ph.y
		rows := l.rows + ph.rows
		r0 := min(max(0, kernel.CeilDiv(-first, l.stride[1])), rows)
		r1 := min(rows, max(r0, kernel.CeilDiv(l.in[1]-first, l.stride[1])))
		if iz < 0 || iz >= l.in[0] {
			r0, r1 = 0, 0
		}
		at := (iz*l.in[1]+first+r0*l.stride[1])*l.in[2] + (from.x+left)*l.stride[2] + l.least[2] + ph.x
		to := i*l.phase + left
		for q := range from.images {
			d := dst[q*l.image+to:]
			for c := 0; c < from.channels && r1-r0 < rows; c++ {
				for r := range rows {
					if r < r0 || r >= r1 {
						clear(d[c*l.channel+r*l.row:][:n])
					}
				}
			}
			if r0 < r1 {
				pick(from.channels, r1-r0, n, src[q*from.image+at:], from.channel, l.stride[1]*l.in[2], l.stride[2], d[r0*l.row:], l.channel, l.row)
			}
		}
	}
}

// pick copies every step-th element of rows of planes to n elements each.
func pick[T kernel.Float](planes, rows, n int, src []T, srcPlane, srcRow, step int, dst []T, dstPlane, dstRow int) {
	_, _ = src[(planes-1)*srcPlane+(rows-1)*srcRow+(n-1)*step], dst[(planes-1)*dstPlane+(rows-1)*dstRow+n-1]
	if step == 1 && srcRow == n && dstRow == n {
		rows, n = 1, rows*n
	}
	if rows == 1 {
		planes, rows, srcRow, dstRow = 1, planes, srcPlane, dstPlane
	}
	if kernel.IsFloat32[T]() && kernel.Has(kernel.ConvGroup) && step <= 2 {
		move := movePlanes
		if step == 2 {
			move = everyOther
		}
		move(planes, rows, n, &kernel.Float32s(src)[0], srcPlane*4, srcRow*4, &kernel.Float32s(dst)[0], dstPlane*4, dstRow*4)
		return
	}
	if kernel.IsFloat32[T]() && kernel.SIMD {
		everyNth(planes, rows, n, &kernel.Float32s(src)[0], srcPlane*4, srcRow*4, &kernel.Float32s(dst)[0], dstPlane*4, dstRow*4, step*4)
		return
	}
	for p := range planes {
		for r := range rows {
			s, d := src[p*srcPlane+r*srcRow:], dst[p*dstPlane+r*dstRow:][:n]
			for q := range d {
				d[q] = s[q*step]
			}
		}
	}
}
