package convolution

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
)

// A kernel larger than 3×3 is divided into blocks of 3×3, filled up with zeros: the convolution is the sum of one for each block,
// whose input begins three rows or columns later than that of the block before. For Winograd's algorithm the blocks are
// additional input channels, so that their products are added before they are transformed back.

// winogradChannels are the channels of a convolution's input for Winograd's algorithm: those of the first block, those of the
// second …, each filled up to a multiple of winogradLanes if there are several.
type winogradChannels struct {
	real       int // channels of the input
	each       int // channels for each block
	rows, cols int // blocks of a kernel
}

// blocks divides the kernel of a convolution, or of its gradient with respect to the input, whose input has the given channels.
func (g *geometry) blocks(channels int) winogradChannels {
	b := winogradChannels{channels, channels, kernel.CeilDiv(g.ker[1], 3), kernel.CeilDiv(g.ker[2], 3)}
	if !g.whole() {
		b.each = roundLanes(channels)
	}
	return b
}

// all returns the number of channels of all blocks.
func (b *winogradChannels) all() int { return b.rows * b.cols * b.each }

// mostBlocks limits the memory of transformed blocks.
const mostBlocks = 16

func (g *geometry) blockCount() int { return kernel.CeilDiv(g.ker[1], 3) * kernel.CeilDiv(g.ker[2], 3) }

// whole reports whether the kernel is one block of 3×3.
func (g *geometry) whole() bool { return g.ker == Triple{1, 3, 3} }

// blockTaps returns the taps of blocks as contiguous weights [lane, block, channel, 3, 3].
func blockTaps[T kernel.Float](p *kernel.Pool, g *geometry, b winogradChannels, w winogradTaps[T], scratch kernel.Scratch[T]) winogradTaps[T] {
	if g.whole() {
		return w
	}
	places, lane := b.places(g), 9*b.all()
	if w.flipped {
		slices.Reverse(places)
	}
	taps := kernel.Take(scratch, w.lanes*lane)
	p.Range(w.lanes, max(1, kernel.ElementGrain/lane), func(lo, hi int) {
		clear(taps[lo*lane : hi*lane])
		for l := lo; l < hi; l++ {
			for c := range b.real {
				to := taps[l*lane+c*9:]
				for q, v := range w.w[l*w.lane+c*w.step:][:len(places)] {
					to[places[q]] = v
				}
			}
		}
	})
	return winogradTaps[T]{w: taps, lane: lane, step: 9, lanes: w.lanes}
}

// joinTaps is the inverse of blockTaps: it sets the weights dw [output channel, channel, high, wide].
func joinTaps[T kernel.Float](p *kernel.Pool, g *geometry, b winogradChannels, taps, dw []T) {
	places, lane := b.places(g), 9*b.all()
	p.Range(g.oc, max(1, kernel.ElementGrain/lane), func(lo, hi int) {
		for o := lo; o < hi; o++ {
			for c := range b.real {
				from := taps[o*lane+c*9:]
				for q, place := range places {
					dw[(o*b.real+c)*len(places)+q] = from[place]
				}
			}
		}
	})
}

// places returns the offset of each tap in the blocks' taps of a channel.
func (b *winogradChannels) places(g *geometry) []int {
	list := make([]int, 0, g.ker.Size())
	for row := range g.ker[1] {
		for col := range g.ker[2] {
			list = append(list, (row/3*b.cols+col/3)*b.each*9+row%3*3+col%3)
		}
	}
	return list
}
