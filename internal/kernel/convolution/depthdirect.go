package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// Direct depthwise convolution: the planes of one channel, for several images stacked horizontally,
// have borders and are processed as one long row. The results between the rows are dropped when the
// others are copied to y.

const (
	// planeElements is the maximum size of a block of a plane: half of an L1 cache.
	planeElements = 1 << 12
	// batchElements is the number of elements of consecutive channels that are loaded together, for long
	// contiguous reads.
	batchElements = 1 << 14
)

// batch returns the number of channels that are loaded together.
func (l *planes) batch() int { return max(1, min(64, batchElements/l.channel)) }

// depthwise computes y[c] = Σ w[c][point]*x[c/multiple] for each output channel c: for all points
// at once or, for the gradient of a strided convolution, for one phase after another.
type depthwise[T kernel.Float] struct {
	n, outputs, multiple int
	in, stride           Triple
	taps                 []Triple // of all phases
	x, y                 []T
	planeY               int
	phases               []depthPhase
	w                    []T // [outputs][ker]
	ker                  int
	e                    elementwise.Epilogue[T]
}

// depthPhase is a set of outputs that the same kernel points reach.
type depthPhase struct {
	grid        Triple
	first       int    // offset of the first grid point in a plane of y
	step        Triple // strides between grid points
	point, taps []int  // indices of the kernel points and of their taps
}

// run computes y.
func (d *depthwise[T]) run(p *kernel.Pool) {
	grid := Triple{}
	for _, ph := range d.phases {
		for i := range grid {
			grid[i] = max(grid[i], ph.grid[i])
		}
	}
	s := directPlans.Get().(*directPlan)
	defer directPlans.Put(s)
	s.layout.describe(d.in, d.stride, d.taps)
	s.cut(p, d.n, 1, grid, d.taps, 1, planeElements, false)
	p.Range(d.outputs, PlaneGrain(d.n*grid.Size()*len(d.taps)), func(lo, hi int) {
		w := directWorkers.Get().(*directWorker)
		defer directWorkers.Put(w)
		for i := range s.cacheBlocks {
			p.Check()
			at := s.part(i, d.n, grid)
			for q := range d.phases {
				d.cacheBlock(s, w, at, &d.phases[q], lo, hi)
			}
		}
	})
}

// cacheBlock computes a phase of a block for the channels [lo, hi).
func (d *depthwise[T]) cacheBlock(s *directPlan, w *directWorker, at part, ph *depthPhase, lo, hi int) {
	at.rows, at.cols = min(at.rows, ph.grid[1]-at.y), min(at.cols, ph.grid[2]-at.x)
	if len(ph.taps) == 0 || at.z >= ph.grid[0] || at.rows <= 0 || at.cols <= 0 {
		return
	}
	l, space := &s.layout, d.in.Size()
	w.off = w.off[:0]
	for _, t := range ph.taps {
		w.off = append(w.off, int32(l.taps[t]))
	}
	w.plan(l, at, func(left int) int { return left }, ph.step, d.outputs*d.planeY, false)
	n := w.tiles[len(w.tiles)-1].at
	batch := l.batch()
	size, room := l.size(batch), n+slack
	buffer := kernel.Borrow[T](size + room + len(w.off))
	defer kernel.GiveBack(buffer)
	cacheBlock, t, weights := (*buffer)[:size], (*buffer)[size:][:room], (*buffer)[size+room:][:len(w.off)]
	clean(l, batch, cacheBlock)
	base := at.image*d.outputs*d.planeY + ph.first + at.z*ph.step[0] + at.y*ph.step[1] + at.x*ph.step[2]
	clip, act := d.e.Bounds()
	whole, done := at.rows*at.cols == d.planeY, lo
	inputs, loaded, end := d.outputs/d.multiple, 0, 0 // the channels that are loaded
	for c := lo; c < hi; c++ {
		from := c / d.multiple
		if from >= end {
			loaded, end = from, min(from+batch, (hi-1)/d.multiple+1)
			load(l, d.x[(at.image*inputs+from)*space:], source{at.images, end - from, inputs * space, space, at.z, at.y, at.x}, cacheBlock)
		}
		x := cacheBlock[(from-loaded)*l.channel:]
		scale, shift := T(1), T(0)
		if d.e.Scale != nil {
			scale = d.e.Scale[c]
		}
		if d.e.Shift != nil {
			shift = d.e.Shift[c]
		}
		for i, k := range ph.point {
			weights[i] = d.w[c*d.ker+k] * scale
		}
		to := base + c*d.planeY
		y := d.y[to:]
		switch {
		case ph.step[2] != 1:
			tapsOf(n, x, w.off, weights, t, shift, clip)
			spread(1, t, 0, w.runs, y, 0, ph.step[2])
		case d.e.Add != nil:
			tapsOf(n, x, w.off, weights, t, shift, nil)
			store(1, t, 0, w.runs, y, 0, d.e.Add[to:], clip)
		case len(w.runs) == 1 && n%tileLanes() == 0:
			tapsOf(n, x, w.off, weights, y[w.runs[0].to:], shift, clip)
		default:
			tapsOf(n, x, w.off, weights, t, shift, clip)
			store(1, t, 0, w.runs, y, 0, nil, nil)
		}
		switch {
		case act.Kind == elementwise.ActDefault:
		case !whole:
			for _, r := range w.runs {
				elementwise.Activate(act, y[r.to:][:r.n])
			}
		case from == end-1 && (c+1)%d.multiple == 0 || c == hi-1: // the planes of all channels that were loaded
			for i := range at.images {
				elementwise.ActivateBlocks(act, d.y[(at.image+i)*d.outputs*d.planeY+done*d.planeY:][:(c+1-done)*d.planeY])
			}
			done = c + 1
		}
	}
}

// tapsOf computes y[i] = shift + Σ w[t]*x[off[t]+i] for i < n, then clips unless clip is nil. x and y
// have slack more elements.
func tapsOf[T kernel.Float](n int, x []T, off []int32, w, y []T, shift T, clip *[2]T) {
	_, _ = w[len(off)-1], y[n-1]
	if depthDirect[T]() {
		px, pw, py, ps := &kernel.Float32s(x)[0], &kernel.Float32s(w)[0], &kernel.Float32s(y)[0], kernel.Float32Pointer(&shift)
		var bounds *float32
		if clip != nil {
			bounds = kernel.Float32Pointer(&clip[0])
		}
		if kernel.AVX512 {
			tapsFlatZ(n, px, len(off), &off[0], pw, py, ps, bounds)
		} else {
			tapsFlatY(n, px, len(off), &off[0], pw, py, ps, bounds)
		}
		return
	}
	for i := range y[:n] {
		v := shift
		for t, o := range off {
			v += w[t] * x[int(o)+i]
		}
		if clip != nil {
			v = between(v, clip)
		}
		y[i] = v
	}
}

// depthDirect reports whether there are kernels for direct depthwise convolution.
func depthDirect[T kernel.Float]() bool { return kernel.SIMD && kernel.IsFloat32[T]() }

// depthForward is a convolution in which every output channel depends on one input channel.
func depthForward[T kernel.Float](p *kernel.Pool, g *geometry, x, w []T, e elementwise.Epilogue[T], y []T, scratch kernel.Scratch[T]) {
	if rowsFit(g) {
		scratch32 := func(n int) []float32 { return kernel.Float32s(kernel.Take(scratch, n)) }
		depthRowsForward(p, g, kernel.Float32s(x), kernel.Float32s(w), elementwise.Epilogue[float32]{Scale: kernel.Float32s(e.Scale), Shift: kernel.Float32s(e.Shift), Add: kernel.Float32s(e.Add), Act: e.Act}, kernel.Float32s(y), scratch32)
		return
	}
	if windowsFit(g) {
		depthPlanesForward(p, g, x, w, e, y, scratch)
		return
	}
	d := depthwise[T]{
		n: g.n, outputs: g.oc, multiple: g.og, in: g.in, stride: g.stride, taps: g.taps(),
		x: x, y: y, planeY: g.out.Size(), w: w, ker: g.ker.Size(), e: e,
	}
	ph := depthPhase{grid: g.out, step: Triple{g.out[1] * g.out[2], g.out[2], 1}}
	for i := range d.taps {
		ph.point, ph.taps = append(ph.point, i), append(ph.taps, i)
	}
	d.phases = []depthPhase{ph}
	d.run(p)
}

// depthBackwardData is the gradient with respect to the input if every input channel has one output channel.
func depthBackwardData[T kernel.Float](p *kernel.Pool, g *geometry, phases []phase, dy, w, dx []T, scratch kernel.Scratch[T]) {
	flipped := func() []T { return flippedPoints(g.oc, g.ker.Size(), w, scratch) }
	if back := g.flipped(); g.stride.Size() == 1 && (windowsFit(&back) || rowsFit(&back)) {
		depthForward(p, &back, dy, flipped(), elementwise.Epilogue[T]{}, dx, scratch)
		return
	}
	if back, ok := g.zeroDilated(); ok {
		zeroDilatedBackward(p, g, &back, kernel.Float32s(dy), kernel.Float32s(flipped()), kernel.Float32s(dx))
		return
	}
	d := depthwise[T]{
		n: g.n, outputs: g.c, multiple: 1, in: g.out, stride: Triple{1, 1, 1},
		x: dy, y: dx, planeY: g.in.Size(), w: w, ker: g.ker.Size(),
	}
	for _, q := range phases {
		ph := depthPhase{
			grid: q.grid, first: (q.first[0]*g.in[1]+q.first[1])*g.in[2] + q.first[2],
			step:  Triple{g.stride[0] * g.in[1] * g.in[2], g.stride[1] * g.in[2], g.stride[2]},
			point: q.kernel,
		}
		for _, t := range q.taps {
			ph.taps = append(ph.taps, len(d.taps))
			d.taps = append(d.taps, t)
		}
		d.phases = append(d.phases, ph)
	}
	if len(d.taps) > 0 {
		d.run(p)
	}
}

// depthTaps is the number of sums that tapSums computes at once.
const depthTaps = 9

// depthBackwardWeight is the gradient with respect to the weights if every output channel depends on one input channel.
func depthBackwardWeight[T kernel.Float](p *kernel.Pool, g *geometry, x, dy, dw []T) {
	if planesFit(g) {
		planeSums(p, g, kernel.Float32s(x), kernel.Float32s(dy), kernel.Float32s(dw))
		return
	}
	taps := g.taps()
	s := directPlans.Get().(*directPlan)
	defer directPlans.Put(s)
	s.layout.describe(g.in, g.stride, taps)
	s.cut(p, g.n, 1, g.out, taps, 1, planeElements, false)
	l, in, out := &s.layout, g.in.Size(), g.out.Size()
	var off []int32
	for _, t := range l.taps {
		off = append(off, int32(t))
	}
	for len(off)%depthTaps != 0 {
		off = append(off, off[0])
	}
	p.Range(g.oc, PlaneGrain(g.n*out*len(taps)), func(lo, hi int) {
		batch := l.batch()
		size := l.size(batch)
		buffer := kernel.Borrow[T](size + len(off))
		defer kernel.GiveBack(buffer)
		cacheBlock, sum := (*buffer)[:size], (*buffer)[size:][:len(off)]
		clear(dw[lo*len(taps) : hi*len(taps)])
		for i := range s.cacheBlocks {
			p.Check()
			at := s.part(i, g.n, g.out)
			clean(l, batch, cacheBlock)
			loaded, end := 0, 0
			for c := lo; c < hi; c++ {
				from := c / g.og
				if from >= end {
					loaded, end = from, min(from+batch, (hi-1)/g.og+1)
					load(l, x[(at.image*g.c+from)*in:], source{at.images, end - from, g.c * in, in, at.z, at.y, at.x}, cacheBlock)
				}
				clear(sum)
				y := dy[(at.image*g.oc+c)*out+(at.z*g.out[1]+at.y)*g.out[2]+at.x:]
				for t := 0; t < len(off); t += depthTaps {
					addTapSums(at, cacheBlock[(from-loaded)*l.channel:], off[t:t+depthTaps], l.row, l.image, y, g.out[2], g.oc*out, sum[t:])
				}
				for t := range taps {
					dw[c*len(taps)+t] += sum[t]
				}
			}
		}
	})
}

// addTapSums adds Σ x[off[t]+i]*y[i], over the points i of a part, to sum[t].
func addTapSums[T kernel.Float](at part, x []T, off []int32, xRow, xImage int, y []T, yRow, yImage int, sum []T) {
	_, _ = y[(at.images-1)*yImage+(at.rows-1)*yRow+at.cols-1], sum[depthTaps-1]
	if depthDirect[T]() {
		px, py, ps := &kernel.Float32s(x)[0], &kernel.Float32s(y)[0], &kernel.Float32s(sum)[0]
		if kernel.AVX512 {
			tapSumsZ(at.images, at.rows, at.cols, px, &off[0], xRow*4, xImage*4, py, yRow*4, yImage*4, ps)
		} else {
			tapSumsY(at.images, at.rows, at.cols, px, &off[0], xRow*4, xImage*4, py, yRow*4, yImage*4, ps)
		}
		return
	}
	for i := range at.images {
		for r := range at.rows {
			row := y[i*yImage+r*yRow:][:at.cols]
			for t, o := range off {
				sum[t] += vector.BlockDot(x[i*xImage+r*xRow+int(o):][:at.cols], row)
			}
		}
	}
}
