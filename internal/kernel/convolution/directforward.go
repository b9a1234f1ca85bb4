package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// directForward computes the convolution by direct tiles if there is assembly for them, and otherwise as a
// product with the im2col matrix, packed one column panel at a time.
func directForward[T kernel.Float](p *kernel.Pool, s *Shape, x, w []T, e elementwise.Epilogue[T], y []T, scratch func(n int) []T) bool {
	g := s.geometry()
	if !kernel.Has(kernel.ConvGroup) || !kernel.IsFloat32[T]() || g.empty() {
		return false
	}
	if g.planar() {
		if depthDirect[T]() {
			depthForward(p, &g, x, w, e, y, scratch)
		}
		return depthDirect[T]()
	}
	d := newDirect(&g, x, e, y)
	d.shift = packShift(g.groups, g.og, e.Shift, scratch)
	d.pack = func(group, panel int, dst []T) { packForward(g.og, g.k(), group, panel, w, e.Scale, dst) }
	d.run(p, scratch)
	return true
}

// Apart reports whether the images of a convolution's result may have gaps between them, see
// Shape.ImageY. The epilogue must not have an Add then.
func Apart[T kernel.Float](s *Shape) bool {
	g := s.geometry()
	return kernel.Has(kernel.ConvGroup) && kernel.IsFloat32[T]() && !g.empty() && !g.planar()
}

// newDirect returns a forward pass without its weights and shift.
func newDirect[T kernel.Float](g *geometry, x []T, e elementwise.Epilogue[T], y []T) *direct[T] {
	in, out := g.in.Size(), g.out.Size()
	d := &direct[T]{
		n: g.n, groups: g.groups, inputs: g.cg, outputs: g.og,
		in: g.in, grid: g.out, stride: g.stride, taps: g.taps(),
		x: x[:g.n*g.c*in], y: y[:g.sizeY()], planeY: out, imageY: g.imageY,
		step: Triple{g.out[1] * g.out[2], g.out[2], 1}, add: e.Add,
	}
	d.clip, d.act = e.Bounds()
	return d
}

// fewTiles is the maximum number of tiles for which untransposed weights are read in place rather than packed.
const fewTiles = 2

// directDense computes the gradient with respect to the input of a convolution with stride 1 by direct tiles.
func directDense[T kernel.Float](p *kernel.Pool, g *geometry, dy, w, dx []T, scratch func(n int) []T) {
	d := newDense(g, dy, dx)
	d.setDense(g, w, scratch)
	d.run(p, scratch)
}

// newDense returns that gradient without its weights and shift.
func newDense[T kernel.Float](g *geometry, dy, dx []T) *direct[T] {
	return &direct[T]{
		n: g.n, groups: g.groups, inputs: g.og, outputs: g.cg,
		in: g.out, grid: g.in, stride: g.stride, taps: g.phases()[0].taps,
		x: dy, y: dx, planeY: g.in.Size(), imageY: g.c * g.in.Size(),
		step: Triple{g.in[1] * g.in[2], g.in[2], 1},
	}
}

// setDense sets the weights, which are packed lazily, and a zero shift.
func (d *direct[T]) setDense(g *geometry, w []T, scratch func(n int) []T) {
	d.shift = packShift[T](g.groups, g.cg, nil, scratch)
	d.pack = func(group, panel int, dst []T) { packData(g, g.phases()[0].kernel, group, panel, w, dst) }
	if g.ker.Size() == 1 && g.cg%tileRows == 0 && d.n*d.grid.Size() <= fewTiles*3*tileLanes() {
		d.a, d.lead = w, g.cg
	}
}
