package convolution

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
)

// planes is the layout of a piece of the input of a convolution in which every tap reads a fixed
// distance from the place of the output point: the rows of the input with zeros around them,
// sorted by their remainder modulo the stride, and so are the columns. The kernels run over such a
// piece as over one long row; the results between the rows mean nothing and are dropped.
//
// The right border of a row is also the left border of the next. Several images are side by side
// (the rows of the first, then of the second, and so on, make one long row), or one below the other.
type planes struct {
	in, stride, least  Triple       // of the whole input; least is the smallest tap
	phases             []planePhase // the remainders that some tap reads
	images, rows, cols int          // output points of the piece
	whole, below       bool         // the columns are all there are; images are one below the other
	segment            int          // elements of a row of one image
	row, image         int          // elements from row to row and from image to image
	phase, channel     int          // elements of a phase, and of all of them
	taps               []int        // how far from the output point each tap reads
}

// planePhase is the input at every stride-th row and column.
type planePhase struct {
	z, y, x    int // of its first point, less the smallest tap
	rows, cols int // how many the taps reach from the first output point on, less 1
}

// slack is how many elements after a piece the kernels may read.
const slack = 64

// describe makes l that of an input, its strides and taps as of an im2col matrix. It takes over the memory of what
// l was before.
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

// find returns the phase that a tap reads, its extent as far as this tap needs it, and where it
// is among the phases, if it is.
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

// cover says which points of the input the columns from x0 on of a phase hold, of which inside are
// from to end: the others are 0.
func (l *planes) cover(ph *planePhase, x0, cols int) (from, end int) {
	first, s := x0*l.stride[2]+l.least[2]+ph.x, l.stride[2]
	end = cols + ph.cols
	if first < 0 {
		from = min(kernel.CeilDiv(-first, s), end)
	}
	return from, max(from, min(end, kernel.CeilDiv(l.in[2]-first, s)))
}

// cut sets the size of the pieces: so many rows and columns of so many images, which stand side by
// side or one below the other. Rows share their borders where they are whole.
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
		l.channel += 16 // or many channels would meet in the same sets of the caches
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

// asItLies makes l the layout of pieces that are read in the input itself, which one tap without borders can be.
func (l *planes) asItLies() {
	l.segment, l.row, l.image = l.in[2], l.in[2], l.in.Size()
}

// point returns which output point is at column at, if one does.
func (l *planes) point(at int) (image, row, x int) {
	if l.below {
		return at / l.image, at % l.image / l.row, at % l.row
	}
	return at % l.row / l.image, at / l.row, at % l.row % l.image
}

// size returns how many elements a piece of so many channels takes.
func (l *planes) size(channels int) int { return channels*l.channel + l.extent() + l.segment + slack }

// extent returns how many columns there are from the first to the last output point.
func (l *planes) extent() int { return (l.rows-1)*l.row + (l.images-1)*l.image + l.cols }

// clean clears what load leaves alone of a piece of so many channels: borders, and the slack.
func clean[T kernel.Float](l *planes, channels int, piece []T) {
	for i := range l.phases {
		ph := &l.phases[i]
		if from, end := l.cover(ph, 0, l.cols); from > 0 || end < l.cols+ph.cols || len(l.phases) > 1 || !l.whole {
			clear(piece)
			return
		}
	}
	clear(piece[channels*l.channel:])
}

// source is where the channels of a piece come from.
type source struct {
	images, channels int
	image, channel   int // elements from image to image and from channel to channel
	z, y, x          int // the first output point
}

// load copies channels of images to a piece. What is outside of the input is set to 0, except
// for columns: they must be 0 already.
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
