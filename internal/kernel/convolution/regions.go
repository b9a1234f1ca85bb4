package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// Where the dilation is near the size of the image, as in DeepLab's atrous pyramids, most taps read padding at most output
// points. The result is then divided into regions for whose points the same taps are inside. In a region the convolution is
// one of a single point: its channels are the channels and taps, whose inputs are copied side by side.

// region is a box of output points, and the taps that are inside for all of them.
type region struct {
	first, size Triple
	taps        Taps
}

// regionsFor returns the regions by which to compute a pass of a convolution, nil if another algorithm is faster. The cost is
// counted like that of Winograd's algorithm: copies of a point's inputs and outputs take as much as 60 channels, those of the
// weights of a tap as much as 30 points, and a region as much as half a million multiplications.
func regionsFor[T kernel.Float](s *Shape, g *geometry, pass winogradPass) []region {
	if g.ker.Size() > mostRegionTaps || g.groups != 1 || g.dil.Size() == 1 || g.stride.Size() > 1 || s.ImageY != 0 || g.empty() {
		return nil
	}
	of := *g
	if pass == winogradDX {
		of = g.reversed()
	}
	list := knownRegions.Get(of, of.findRegions)
	c, oc := float64(g.c), float64(g.oc)
	cost := float64(len(list)) * 5e5 / (c * oc)
	for _, r := range list {
		taps := float64(r.taps.size())
		cost += taps * (float64(g.n*r.size.Size())*(1+60*(c+oc)/(c*oc)) + 30)
	}
	if _, lowest := cheapest[T](s, g, pass); lowest <= cost {
		return nil
	}
	return list
}

// mostRegionTaps limits the number of regions, of which there are up to two for each tap of an axis.
const mostRegionTaps = 32

func (t Taps) size() int {
	return (t.End[0] - t.First[0]) * (t.End[1] - t.First[1]) * (t.End[2] - t.First[2])
}

var knownRegions kernel.BoundedCache[geometry, []region]

func (g *geometry) findRegions() []region {
	list := []region{{size: Triple{1, 1, 1}}}
	for axis := range 3 {
		var next []region
		for from := 0; from < g.out[axis]; {
			first, end := g.tapsInside(axis, from)
			to := from + 1
			for ; to < g.out[axis]; to++ {
				if f, e := g.tapsInside(axis, to); f != first || e != end {
					break
				}
			}
			for _, r := range list {
				r.first[axis], r.size[axis], r.taps.First[axis], r.taps.End[axis] = from, to-from, first, end
				next = append(next, r)
			}
			from = to
		}
		list = next
	}
	return list
}

// tapsInside returns the taps, from first to end, exclusive, that read inside of the input at an output position of an axis.
func (g *geometry) tapsInside(axis, at int) (first, end int) {
	position := func(tap int) int { return at*g.stride[axis] + tap*g.dil[axis] - g.pad[axis] }
	for first < g.ker[axis] && position(first) < 0 {
		first++
	}
	for end = first; end < g.ker[axis] && position(end) < g.in[axis]; end++ {
	}
	return first, end
}

// byRegions sets y, region by region; weights writes those of some taps, [output channel, channel, tap].
func byRegions[T kernel.Float](p *kernel.Pool, g *geometry, list []region, x []T, weights func(t Taps, to []T), y []T, scratch kernel.Scratch[T]) {
	most, largest := 0, 0
	for _, r := range list {
		most, largest = max(most, r.size.Size()*r.taps.size()), max(largest, r.size.Size())
	}
	live := kernel.Take(scratch, g.oc*g.k())
	inputs, result := kernel.Take(scratch, g.n*g.c*most+slack), kernel.Take(scratch, g.n*g.oc*largest+slack)
	begin := reused(scratch)
	for _, r := range list {
		corners, size := g.corners(r), r.size.Size()
		from, to := inputs[:g.n*g.c*size*len(corners)], result[:g.n*g.oc*size]
		if len(corners) == 0 {
			clear(to)
		} else {
			copyBoxes(p, g.n*g.c, g.in, x, corners, r.size, from)
			weights(r.taps, live)
			Forward(p, onePoint(g.n, g.c*len(corners), g.oc, r.size), from, live[:g.oc*g.c*len(corners)], elementwise.Epilogue[T]{}, to, begin())
		}
		placeBoxes(p, g.n*g.oc, to, r.first, r.size, g.out, y)
	}
}

// forwardRegions is Forward by regions.
func forwardRegions[T kernel.Float](p *kernel.Pool, g *geometry, list []region, x, w []T, e elementwise.Epilogue[T], y []T, scratch kernel.Scratch[T]) {
	weights := func(t Taps, to []T) { gather(p, t, g.ker, w[:g.oc*g.k()], to) }
	byRegions(p, g, list, x, weights, y, scratch)
	e.Planes(p, g.oc, g.out.Size(), y[:g.sizeY()])
}

// reversed is the geometry of the gradient with respect to the input of a convolution without strides: that of a convolution
// of dy with the kernel reversed.
func (g *geometry) reversed() geometry {
	m := *g
	m.c, m.cg, m.oc, m.og, m.in, m.out, m.imageY = g.oc, g.og, g.c, g.cg, g.out, g.in, g.c*g.in.Size()
	for i := range m.pad {
		m.pad[i] = (g.ker[i]-1)*g.dil[i] - g.pad[i]
	}
	return m
}

// dataRegions is BackwardData by the regions of the reversed convolution.
func dataRegions[T kernel.Float](p *kernel.Pool, g *geometry, list []region, dy, w, dx []T, scratch kernel.Scratch[T]) {
	m := g.reversed()
	ker := g.ker.Size()
	turned := kernel.Take(scratch, g.oc*g.k()) // [channel, output channel, tap], taps reversed
	p.Range(kernel.CeilDiv(g.c, weightBlock), max(1, kernel.ElementGrain/(weightBlock*g.oc*ker)), func(lo, hi int) {
		for block := lo; block < hi; block++ {
			for o := range g.oc {
				for c := block * weightBlock; c < min(g.c, (block+1)*weightBlock); c++ {
					from, to := w[(o*g.c+c)*ker:][:ker], turned[(c*g.oc+o)*ker:][:ker]
					for k, v := range from {
						to[ker-1-k] = v
					}
				}
			}
		}
	})
	weights := func(t Taps, to []T) { gather(p, t, g.ker, turned, to) }
	byRegions(p, &m, list, dy, weights, dx, scratch)
}

// weightRegions is BackwardWeight tap by tap, from the output points for which it is inside.
func weightRegions[T kernel.Float](p *kernel.Pool, g *geometry, x, dy, dw []T, scratch kernel.Scratch[T]) {
	ker, whole := g.ker.Size(), g.out.Size()
	left, right := kernel.Take(scratch, g.n*g.c*whole+slack), kernel.Take(scratch, g.n*g.oc*whole+slack)
	live, begin := kernel.Take(scratch, g.oc*g.c), reused(scratch)
	for k, t := range g.taps() {
		var first, size, corner Triple
		for i := range 3 {
			first[i] = max(0, -t[i])
			size[i] = max(0, min(g.out[i], g.in[i]-t[i])-first[i])
			corner[i] = first[i] + t[i]
		}
		clear(live)
		if n := size.Size(); n > 0 {
			a, b := left[:g.n*g.c*n], right[:g.n*g.oc*n]
			copyBoxes(p, g.n*g.c, g.in, x, []Triple{corner}, size, a)
			copyBoxes(p, g.n*g.oc, g.out, dy, []Triple{first}, size, b)
			BackwardWeight(p, onePoint(g.n, g.c, g.oc, size), a, b, live, begin())
		}
		p.Range(len(live), kernel.ElementGrain, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				dw[i*ker+k] = live[i]
			}
		})
	}
}

// reused returns a function that begins a computation: the scratch memory that it returns is that of the computation before,
// where that is large enough.
func reused[T kernel.Float](scratch kernel.Scratch[T]) func() kernel.Scratch[T] {
	var buffers [][]T
	return func() kernel.Scratch[T] {
		next := 0
		return func(n int) []T {
			next++
			if next > len(buffers) {
				buffers = append(buffers, nil)
			}
			b := &buffers[next-1]
			if cap(*b) < n {
				*b = kernel.Take(scratch, n)
			}
			return (*b)[:n]
		}
	}
}

// onePoint is the convolution of a single point with n images of a size.
func onePoint(n, c, oc int, size Triple) *Shape {
	return &Shape{N: n, C: c, OC: oc, In: size[:], Kernel: []int{1, 1, 1}, Out: size[:]}
}

// corners returns the first input points that the taps of a region read.
func (g *geometry) corners(r region) (list []Triple) {
	all := g.taps()
	for _, k := range r.taps.of(g.ker) {
		t := all[k]
		for i := range t {
			t[i] += r.first[i]
		}
		list = append(list, t)
	}
	return list
}

// copyBoxes copies a box at each corner of so many planes: to is [plane, corner, size…].
func copyBoxes[T kernel.Float](p *kernel.Pool, planes int, in Triple, x []T, corners []Triple, size Triple, to []T) {
	box := size.Size()
	p.Range(planes*len(corners), max(1, kernel.ElementGrain/box), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			eachRow(x[i/len(corners)*in.Size():], in, corners[i%len(corners)], size, func(at int, row []T) { copy(to[i*box+at:][:size[2]], row) })
		}
	})
}

// placeBoxes is the way back: from [plane, size…] to a box of each plane of y.
func placeBoxes[T kernel.Float](p *kernel.Pool, planes int, from []T, first, size, out Triple, y []T) {
	box := size.Size()
	p.Range(planes, max(1, kernel.ElementGrain/box), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			eachRow(y[i*out.Size():], out, first, size, func(at int, row []T) { copy(row, from[i*box+at:]) })
		}
	})
}

// eachRow calls f for each row of a box of a plane, with the row's offset in a copy of the box.
func eachRow[T kernel.Float](plane []T, in, first, size Triple, f func(at int, row []T)) {
	at := 0
	for z := range size[0] {
		for y := range size[1] {
			f(at, plane[((first[0]+z)*in[1]+first[1]+y)*in[2]+first[2]:][:size[2]])
			at += size[2]
		}
	}
}
