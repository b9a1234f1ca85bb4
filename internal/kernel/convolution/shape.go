package convolution

import (
	"fmt"

	"github.com/graft-ml/graft/internal/kernel"
)

// Shape is the shape of a convolution with one to three spatial dimensions:
// x [N, C, In…], w [OC, C/Group, Kernel…], y [N, OC, Out…]. Point o of the output
// reads x at o*Stride + k*Dilation - PadBegin for the kernel points k; points
// outside of x are 0. Out determines the end of the padding, so that there is no PadEnd.
// Empty Stride and Dilation mean 1, empty PadBegin means 0, Group 0 means 1.
type Shape struct {
	N, C, OC, Group                                     int
	In, Kernel, Out, Stride, Dilation, PadBegin, PadEnd []int

	// ImageY, if not 0, is the stride between images of y, in elements, for a y that is part of a larger
	// tensor: only for a forward pass that Apart allows.
	ImageY int

	exact bool // compute every product: no Winograd transform
}

type Triple [3]int

func (v Triple) Size() int { return v[0] * v[1] * v[2] }

// geometry is a Shape extended to three spatial dimensions.
type geometry struct {
	n, c, oc, groups               int // all channels
	cg, og                         int // channels per group
	in, ker, out, stride, dil, pad Triple
	imageY                         int // stride between images of y
}

func (s *Shape) geometry() geometry {
	g := geometry{n: s.N, c: s.C, oc: s.OC, groups: max(s.Group, 1)}
	g.cg, g.og = g.c/g.groups, g.oc/g.groups
	if d := len(s.In); d > 3 || len(s.Kernel) != d || len(s.Out) != d || g.cg*g.groups != g.c || g.og*g.groups != g.oc {
		panic(fmt.Sprintf("kernel: convolution of shape %+v", *s))
	}
	g.in, g.ker, g.out = Expand(s.In, 1), Expand(s.Kernel, 1), Expand(s.Out, 1)
	g.stride, g.dil, g.pad = Expand(s.Stride, 1), Expand(s.Dilation, 1), Expand(s.PadBegin, 0)
	if g.imageY = s.ImageY; g.imageY == 0 {
		g.imageY = g.oc * g.out.Size()
	}
	return g
}

// empty reports whether the result, or each of its sums, has no elements.
func (g *geometry) empty() bool {
	return g.n*g.oc*g.out.Size() == 0 || g.c*g.in.Size()*g.ker.Size() == 0
}

// sizeY returns the number of elements of y from the first to the last, including gaps.
func (g *geometry) sizeY() int { return (g.n-1)*g.imageY + g.oc*g.out.Size() }

// k returns the number of products per output.
func (g *geometry) k() int { return g.cg * g.ker.Size() }

// panels returns the number of panels of weights of a group.
func (g *geometry) panels() int { return kernel.CeilDiv(g.og, tileRows) }

// Expand extends the spatial values v to three with leading values fill.
func Expand(v []int, fill int) Triple {
	t := Triple{fill, fill, fill}
	copy(t[3-len(v):], v)
	return t
}

// points lists the kernel points in row-major order.
func (g *geometry) points() []Triple {
	p := make([]Triple, 0, g.ker.Size())
	for z := range g.ker[0] {
		for y := range g.ker[1] {
			for x := range g.ker[2] {
				p = append(p, Triple{z, y, x})
			}
		}
	}
	return p
}

// reach has the parameters that determine the taps of a convolution.
type reach struct{ ker, dil, pad Triple }

var (
	knownTaps   kernel.BoundedCache[reach, []Triple]
	knownPhases kernel.BoundedCache[geometry, []phase]
)

// taps returns, in kernel order, the offset of each kernel point's input point from
// the output point times the stride.
func (g *geometry) taps() []Triple {
	if g.ker.Size() > mostCached {
		return g.findTaps()
	}
	return knownTaps.Get(reach{g.ker, g.dil, g.pad}, g.findTaps)
}

// mostCached is the number of kernel points up to which lists of them are cached.
const mostCached = 1 << 12

// listBytes is an upper bound for each kernel point, with what growing lists leave behind.
const listBytes = 384

// ListBytes returns about how many bytes the lists of kernel points take on the heap while the convolution or one of its
// gradients is computed: 0 for kernels whose lists are cached.
func (s *Shape) ListBytes() int64 {
	g := s.geometry()
	if g.ker.Size() <= mostCached || g.swaps() {
		return 0
	}
	return listBytes * int64(g.ker.Size())
}

func (g *geometry) findTaps() []Triple {
	t := g.points()
	for i := range t {
		for d := range 3 {
			t[i][d] = t[i][d]*g.dil[d] - g.pad[d]
		}
	}
	return t
}

// phase is a class of input points, first + t*step for t in grid, that the same
// kernel points reach. The gradient of a strided convolution is the sum over its phases of
// convolutions with stride 1.
type phase struct {
	first, grid Triple
	kernel      []int    // flat indices of the kernel points that reach it
	taps        []Triple // for each, the offset from t of the output point that it multiplies
}

func (g *geometry) phases() []phase {
	if g.ker.Size() > mostCached {
		return g.findPhases()
	}
	return knownPhases.Get(*g, g.findPhases)
}

func (g *geometry) findPhases() []phase {
	var all []phase
	for i := range g.stride.Size() {
		first := Triple{i / (g.stride[1] * g.stride[2]), i / g.stride[2] % g.stride[1], i % g.stride[2]}
		ph := phase{first: first}
		for d := range 3 {
			ph.grid[d] = max(0, kernel.CeilDiv(g.in[d]-first[d], g.stride[d]))
		}
		if ph.grid.Size() == 0 {
			continue
		}
		var points, taps [3][]int // of each axis, the kernel points that reach it, and their taps
		for d := range 3 {
			for point := range g.ker[d] {
				if at := first[d] + g.pad[d] - point*g.dil[d]; at%g.stride[d] == 0 {
					points[d], taps[d] = append(points[d], point), append(taps[d], at/g.stride[d])
				}
			}
		}
		size := len(points[0]) * len(points[1]) * len(points[2])
		ph.kernel, ph.taps = make([]int, 0, size), make([]Triple, 0, size)
		for i, z := range points[0] {
			for j, y := range points[1] {
				for k, x := range points[2] {
					ph.kernel = append(ph.kernel, (z*g.ker[1]+y)*g.ker[2]+x)
					ph.taps = append(ph.taps, Triple{taps[0][i], taps[1][j], taps[2][k]})
				}
			}
		}
		all = append(all, ph)
	}
	return all
}
