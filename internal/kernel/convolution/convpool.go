package convolution

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
)

// ConvPool is a convolution over planes fused with max pooling of its result. It computes bands of rows of maxima: the rows
// of the convolution for a band, for one panel of channels at a time, stay in the L2 cache. Rows that two bands share are
// computed twice.
type ConvPool struct {
	g      geometry
	window PoolWindows
	layout planes  // layout of the input of a band
	off    []int32 // offsets of the taps in it
	rows   int     // rows of maxima in a band
}

const (
	// bandElements is the maximum size of a panel's rows of the convolution, so that input and intermediate result fit
	// into the smaller L2 caches.
	bandElements = 1 << 15
	// twice is the maximum percentage of rows that are computed a second time.
	twice = 15
)

// PoolWindows are the windows of a pooling of planes [N, C, In], extended to three spatial dimensions.
type PoolWindows struct {
	N, C                                   int
	In, Kernel, Out, Stride, Dilation, Pad Triple

	// Max returns the function that computes the maxima y of the windows of planes x, with the given numbers of rows and
	// columns in place of In and Out, and the given leading padding in place of Pad.
	Max func(in, out, pad [2]int) func(planes int, x, y []float32)
}

// NewConvPool fuses the convolution c with a max pooling. It returns nil if there is no kernel for both, or too many rows would be
// computed twice.
func NewConvPool(c *Shape, pool PoolWindows) *ConvPool {
	b := &ConvPool{g: c.geometry(), window: pool}
	g, w := &b.g, &b.window
	if !kernel.Has(kernel.ConvGroup) || g.empty() || g.groups > 1 || g.planar() || winogradFor[float32](c, g, winogradY) != nil {
		return nil
	}
	if len(c.In) != 2 || pool.N != c.N || pool.C != c.OC || g.out != w.In || w.Out.Size() == 0 {
		return nil
	}
	bands := 1
	for b.rows = w.Out[1]; !b.fits() && b.rows > 1; bands++ {
		b.rows = kernel.CeilDiv(w.Out[1], bands)
	}
	if computed, least := b.bands(); !b.fits() || 100*computed > (100+twice)*g.out[1] || b.columns(least) < 3*tileLanes() {
		return nil
	}
	b.off = tapOffsets(g.c, b.layout.channel, b.layout.taps, make([]int32, 0, g.k()+tilePrefetch))
	return b
}

// fits computes the layout of bands and reports whether they are small enough.
func (b *ConvPool) fits() bool {
	g, w, l := &b.g, &b.window, &b.layout
	most := min((b.rows-1)*w.Stride[1]+(w.Kernel[1]-1)*w.Dilation[1]+1, g.out[1])
	l.describe(g.in, g.stride, g.taps())
	l.cut(1, most, g.out[2], true, false, g.taps())
	return tileRows*most*l.row <= bandElements && g.c*l.channel <= cacheBlockElements
}

// read returns the rows of the convolution that the rows of maxima in [first, end) depend on.
func (b *ConvPool) read(first, end int) (from, to int) {
	w := &b.window
	from = first*w.Stride[1] - w.Pad[1]
	to = (end-1)*w.Stride[1] - w.Pad[1] + (w.Kernel[1]-1)*w.Dilation[1] + 1
	from = min(max(from, 0), b.g.out[1]-1)
	return from, max(from+1, min(to, b.g.out[1]))
}

// bands returns the total number of rows of the convolution in all bands of a plane, and the smallest number in a band.
func (b *ConvPool) bands() (computed, least int) {
	least = b.g.out[1]
	for first := 0; first < b.window.Out[1]; first += b.rows {
		from, to := b.read(first, min(first+b.rows, b.window.Out[1]))
		computed, least = computed+to-from, min(least, to-from)
	}
	return computed, least
}

// columns returns the number of columns from the first to the last of the given number of rows of the convolution.
func (b *ConvPool) columns(rows int) int { return (rows-1)*b.layout.row + b.g.out[2] }

// Forward computes y. The epilogue has neither scale nor shift and adds nothing.
func (b *ConvPool) Forward(p *kernel.Pool, x []float32, w *Weights[float32], e elementwise.Epilogue[float32], y []float32) {
	g := &b.g
	if g.n*g.oc*g.k()*g.out.Size() < matmul.SmallProduct {
		p = nil
	}
	bands := kernel.CeilDiv(b.window.Out[1], b.rows)
	p.Run(g.n*bands, func(_, i int) { b.band(i/bands, i%bands*b.rows, x, w, e, y) })
}

// band computes the rows of maxima of an image from first on. Rows of the convolution have the stride of the rows of the
// band's input, so that tiles extend over several rows; the elements between them are treated as a border.
func (b *ConvPool) band(image, first int, x []float32, weights *Weights[float32], e elementwise.Epilogue[float32], y []float32) {
	g, l, out := &b.g, &b.layout, b.window.Out
	end := min(first+b.rows, out[1])
	from, to := b.read(first, end)
	size, plane, maxima := l.size(g.c), (to-from)*l.row, (end-first)*out[2]
	buffer := kernel.Borrow[float32](size + tileRows*(plane+maxima))
	defer kernel.GiveBack(buffer)
	input, rest := cut(*buffer, size)
	between, pooled := cut(rest, tileRows*plane)
	clean(l, g.c, input)
	load(l, x[image*g.c*g.in.Size():], source{1, g.c, 0, g.in.Size(), 0, from, 0}, input)

	largest := b.window.Max([2]int{to - from, l.row}, [2]int{end - first, out[2]}, [2]int{b.window.Pad[1] + from - first*b.window.Stride[1], b.window.Pad[2]})
	clip, later := e.Bounds()
	for panel := range g.panels() {
		a, shift := weights.weights[panel*g.k()*tileRows:], weights.shift[panel*tileRows:]
		channels := min(tileRows, g.oc-panel*tileRows)
		b.rowsOf(channels, b.columns(to-from), a, input, between, plane, shift, clip)
		elementwise.ActivateBlocks(later, between[:channels*plane])
		b.border(between[:channels*plane])
		largest(channels, between[:channels*plane], pooled[:channels*maxima])
		for i := range channels {
			copy(y[((image*g.oc+panel*tileRows+i)*out[1]+first)*out[2]:], pooled[i*maxima:][:maxima])
		}
	}
}

// rowsOf computes the given number of columns, more than a tile, for the channels of the convolution, each in one row.
func (b *ConvPool) rowsOf(channels, columns int, a, input, y []float32, plane int, shift []float32, clip *[2]float32) {
	width, lanes := 3*tileLanes(), tileLanes()
	whole := columns / width
	tiles(whole, channels, width, a, tileRows, input, b.off, y, plane, shift, clip, nil)
	if n := kernel.CeilDiv(columns-whole*width, lanes) * lanes; n > 0 { // starts earlier, so that it ends with the last column
		at := columns - n
		tile(channels, n, a, tileRows, input[at:], b.off, y[at:], plane, shift, clip)
	}
}

// border sets the elements between rows to a value that is never a maximum, if windows read them.
func (b *ConvPool) border(rows []float32) {
	w, pitch := &b.window, b.layout.row
	if reach := (w.Out[2]-1)*w.Stride[2] - w.Pad[2] + (w.Kernel[2]-1)*w.Dilation[2] + 1; reach <= w.In[2] {
		return
	}
	for at := w.In[2]; at < len(rows); at += pitch {
		for i := range min(pitch-w.In[2], len(rows)-at) {
			rows[at+i] = float32(math.Inf(-1))
		}
	}
}
