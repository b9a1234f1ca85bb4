package convolution

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// Depthwise convolutions with large windows: a few planes at a time are copied with borders of zeros
// (with stride 2, the even columns of a row before the odd ones), and computed in blocks of rows.

// rowsBlock is the number of rows of outputs that a kernel computes at once.
const rowsBlock = 8

// depthRowsKernel computes a plane; see depthRows7Z1.
type depthRowsKernel func(high, wide int, x *float32, xRow, odd int, y *float32, yRow int, f, shift, clip *float32)

// rowsKernel returns the kernel for the window and stride of a convolution, with vectors of 16 or of 8
// elements; nil: none.
func rowsKernel(g *geometry, broad bool) depthRowsKernel {
	switch side, stride := g.ker[2], g.stride[2]; {
	case g.ker[1] != side || g.stride[1] != stride:
	case side == 7 && stride == 1 && broad:
		return depthRows7Z1
	case side == 7 && stride == 1:
		return depthRows7Y1
	case side == 5 && stride == 1 && broad:
		return depthRows5Z1
	case side == 5 && stride == 1:
		return depthRows5Y1
	case side == 5 && stride == 2 && broad:
		return depthRows5Z2
	case side == 5 && stride == 2:
		return depthRows5Y2
	}
	return nil
}

// rowsLimit is the maximum number of elements of a plane: a whole plane is copied and computed at once.
const rowsLimit = 1 << 22

// rowsFit reports whether a convolution has one kernel for each output channel, and a window for which
// there is assembly. Small planes with windows of 5×5 are computed in place instead, see windowsFit.
func rowsFit(g *geometry) bool {
	inside := func(i int) bool { return g.pad[i] >= 0 && g.pad[i] < g.ker[i] }
	return kernel.SIMD && g.cg == 1 && g.ker[0] == 1 && g.in[0] == 1 && g.out[0] == 1 && g.pad[0] == 0 && g.dil.Size() == 1 && inside(1) && inside(2) &&
		min(g.in.Size(), g.out.Size()) > 0 && max(g.in.Size(), g.out.Size()) <= rowsLimit && (g.ker[2] == 7 || g.stride[2] == 2 || g.out[2] > 8) && rowsKernel(g, kernel.AVX512) != nil
}

// depthRows is a depthwise convolution that rowsFit, without its x and y.
type depthRows struct {
	g             *geometry
	w, shift      []float32
	clip          *[2]float32
	kernel        depthRowsKernel
	high          int // rows of a plane with borders
	odd, pitch    int // distance from the even to the odd columns, and row stride
	size, behind  int // size of such a plane, and elements read after it
	rows, cols    int // extent of the input that some window reads
	above, before int // rows and columns of zeros before the input
}

func newDepthRows(g *geometry, w, shift []float32, clip *[2]float32) *depthRows {
	d := &depthRows{g: g, w: w, shift: shift, clip: clip, above: g.pad[1], before: g.pad[2]}
	broad := kernel.AVX512 && g.out[2] > 8
	lanes := 8
	if broad {
		lanes = 16
	}
	stride, side := g.stride[2], g.ker[2]
	wide := (g.out[2]-1)*stride + side
	d.kernel = rowsKernel(g, broad)
	d.odd = kernel.CeilDiv(wide, stride)
	d.high, d.pitch = (g.out[1]-1)*stride+side, d.odd*stride
	d.size = d.high * d.pitch
	d.behind = max(0, rowsBlock-g.out[1])*stride*d.pitch + lanes
	d.rows, d.cols = min(g.in[1], d.high-d.above), min(g.in[2], wide-d.before)
	return d
}

// depthRowsForward computes y = conv(x, w) with the epilogue e, for shapes that rowsFit.
func depthRowsForward(p *kernel.Pool, g *geometry, x, w []float32, e elementwise.Epilogue[float32], y []float32, scratch kernel.Scratch[float32]) {
	in, out := g.in.Size(), g.out.Size()
	w, shift := depthAffine(g, w, e, scratch)
	clip, later := e.Bounds()
	rest := elementwise.Epilogue[float32]{Add: e.Add, Act: later}
	if e.Add != nil {
		clip, rest.Act = nil, e.Act
	}
	if clip == nil {
		inf := float32(math.Inf(1))
		clip = &[2]float32{-inf, inf}
	}
	d := newDepthRows(g, w, shift, clip)
	p.Range(g.n*g.c, PlaneGrain(g.ker.Size()*out*g.og), func(lo, hi int) {
		batch := max(1, min(hi-lo, batchElements/d.size))
		buffer := kernel.Borrow[float32](batch*d.size + d.behind)
		defer kernel.GiveBack(buffer)
		clear((*buffer)[:batch*d.size+d.behind])
		for i := lo; i < hi; i += batch {
			p.Check()
			planes := min(batch, hi-i)
			d.load(planes, x[i*in:], *buffer)
			for q := range planes * g.og {
				o := i*g.og + q
				to := y[o*out:][:out]
				d.plane(o%g.oc, (*buffer)[q/g.og*d.size:], to)
				if !rest.IsNone() {
					rest.Row(to, o%g.oc, o*out)
				}
			}
		}
	})
}

// load copies planes of x, with borders, to to.
func (d *depthRows) load(planes int, x, to []float32) {
	g, stride := d.g, d.g.stride[2]
	for first := range stride { // first column of the window that reads the copied columns
		from := (first - d.before%stride + stride) % stride // column of x
		cols := kernel.CeilDiv(d.cols-from, stride)
		if d.rows > 0 && cols > 0 {
			at := d.above*d.pitch + first*d.odd + (d.before+from)/stride
			pick(planes, d.rows, cols, x[from:], g.in.Size(), g.in[2], stride, to[at:], d.size, d.pitch)
		}
	}
}

// plane computes a plane of channel c from a plane with borders.
func (d *depthRows) plane(c int, x, y []float32) {
	g := d.g
	w := d.w[c*g.ker.Size():][:g.ker.Size()]
	_, _ = x[d.size+d.behind-1], y[g.out.Size()-1]
	d.kernel(g.out[1], g.out[2], &x[0], d.pitch*4, d.odd*4, &y[0], g.out[2]*4, &w[0], &d.shift[c], &d.clip[0])
}
