package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// A convolution with dilation d computes every d-th row and column independently: it is a convolution
// without dilation of d·d times as many, smaller images. So Winograd's algorithm also applies to
// dilated convolutions.

// undilated returns the convolution of the smaller images, if g has a dilation and the borders of the
// images are multiples of it. All smaller images have the size of the largest; the missing points are
// 0.
func (g *geometry) undilated() (geometry, bool) {
	u, d := *g, g.dil
	if d.Size() == 1 || d[0] != 1 || g.stride.Size() > 1 || g.in[0] != 1 || g.out[0] != 1 || g.pad[0] != 0 {
		return u, false
	}
	for i := range d {
		if g.pad[i]%d[i] != 0 {
			return u, false
		}
		u.in[i], u.out[i], u.pad[i], u.dil[i] = kernel.CeilDiv(g.in[i], d[i]), kernel.CeilDiv(g.out[i], d[i]), g.pad[i]/d[i], 1
	}
	u.n *= d.Size()
	u.imageY = u.oc * u.out.Size()
	return u, true
}

// dilatedForward is winogradForward for convolutions with dilation.
func dilatedForward[T kernel.Float](p *kernel.Pool, t *winogradTile, g *geometry, x, w []T, e elementwise.Epilogue[T], y []T, scratch kernel.Scratch[T]) bool {
	u, _ := g.undilated()
	small := divide(p, g.dil, g.n, g.c, g.in, u.in, x, scratch)
	first, last := e, elementwise.Epilogue[T]{}
	if e.Add != nil {
		first.Add, first.Act = nil, elementwise.Activation{}
		last.Add, last.Act = e.Add, e.Act
	}
	result := kernel.Take(scratch, u.n*u.imageY+slack)
	if !forwardWinograd(p, t, &u, small, w, first, result, scratch) {
		return false
	}
	unite(p, g.dil, g.n, g.oc, u.out, g.out, result, y, g.imageY)
	if e.Add != nil {
		last.Planes(p, g.oc, g.out.Size(), y[:g.sizeY()])
	}
	return true
}

// dilatedData is winogradBackwardData for convolutions with dilation.
func dilatedData[T kernel.Float](p *kernel.Pool, t *winogradTile, g *geometry, dy, w, dx []T, scratch kernel.Scratch[T]) bool {
	u, _ := g.undilated()
	small := divide(p, g.dil, g.n, g.oc, g.out, u.out, dy, scratch)
	result := kernel.Take(scratch, u.n*u.c*u.in.Size()+slack)
	if !dataWinograd(p, t, &u, small, w, result, scratch) {
		return false
	}
	unite(p, g.dil, g.n, g.c, u.in, g.in, result, dx, g.c*g.in.Size())
	return true
}

// dilatedWeight is winogradBackwardWeight for convolutions with dilation.
func dilatedWeight[T kernel.Float](p *kernel.Pool, t *winogradTile, g *geometry, x, dy, dw []T, scratch kernel.Scratch[T]) bool {
	u, _ := g.undilated()
	left := divide(p, g.dil, g.n, g.c, g.in, u.in, x, scratch)
	right := divide(p, g.dil, g.n, g.oc, g.out, u.out, dy, scratch)
	return weightWinograd(p, t, &u, left, right, dw, scratch)
}

// divide splits n images [image][plane][point] into smaller ones [image][row][column][plane], where
// row and column are the remainders of a point's coordinates modulo d.
func divide[T kernel.Float](p *kernel.Pool, d Triple, n, planes int, from, to Triple, x []T, scratch kernel.Scratch[T]) []T {
	small, parts := kernel.Take(scratch, n*d.Size()*planes*to.Size()), d.Size()
	p.Range(n*parts, max(1, kernel.ElementGrain/(planes*to.Size())), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			image, r, c := i/parts, i%parts/d[2], i%d[2]
			dst := small[i*planes*to.Size():][:planes*to.Size()]
			rows, cols := max(0, kernel.CeilDiv(from[1]-r, d[1])), max(0, kernel.CeilDiv(from[2]-c, d[2]))
			if rows < to[1] || cols < to[2] {
				clear(dst)
			}
			if rows > 0 && cols > 0 {
				pick(planes, rows, cols, x[image*planes*from.Size()+r*from[2]+c:], from.Size(), d[1]*from[2], d[2], dst, to.Size(), to[2])
			}
		}
	})
	return small
}

// unite is the inverse of divide; y has the image stride imageY. Up to a vector after small may be read.
func unite[T kernel.Float](p *kernel.Pool, d Triple, n, planes int, from, to Triple, small, y []T, imageY int) {
	p.Range(n*planes, max(1, kernel.ElementGrain/to.Size()), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			image, c := i/planes, i%planes
			for r := range to[1] {
				at := ((image*d[1]+r%d[1])*d[2]*planes+c)*from.Size() + r/d[1]*from[2]
				interleave(1, min(d[2], to[2]), to[2], small[at:], planes*from.Size(), y[image*imageY+c*to.Size()+r*to[2]:], 0)
			}
		}
	})
}
