package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// swappedPoints is the number of kernel points, and four the multiple of the output points, from which kernel and output swap roles.
const swappedPoints = 1 << 12

// swaps reports whether the kernel has so many more points than the output that lists of them would take long, and more memory than
// the weights. A convolution then exchanges both: as
//
//	y[n, oc, o] = Σ_c,k x[n, c, o·stride + k·dilation - pad] · w[oc, c, k],
//
// with n and c, o and k, and stride and dilation exchanged, y is the gradient with respect to the weights of a convolution whose
// kernel has the points of y and whose result has those of w. The gradient with respect to w is then its result, and that with
// respect to x remains that.
func (g *geometry) swaps() bool {
	return g.ker.Size() >= max(swappedPoints, 4*g.out.Size()) && !g.empty()
}

// swapped returns the exchanged convolution of a group.
func (g *geometry) swapped(s *Shape) Shape {
	return Shape{N: g.cg, C: g.n, OC: g.og, In: g.in[:], Kernel: g.out[:], Out: g.ker[:], Stride: g.dil[:], Dilation: g.stride[:], PadBegin: g.pad[:], exact: s.exact}
}

// forwardSwapped computes y and applies the epilogue.
func forwardSwapped[T kernel.Float](p *kernel.Pool, s *Shape, x, w []T, e elementwise.Epilogue[T], y []T, scratch kernel.Scratch[T]) {
	g := s.geometry()
	u, out := g.swapped(s), g.out.Size()
	to := kernel.Take(scratch, g.og*g.n*out)
	for i := range g.groups {
		BackwardWeight(p, &u, exchangedX(p, &g, i, x, scratch), exchangedW(p, &g, i, w, scratch), to, scratch)
		for n := range g.n {
			for o := range g.og {
				kernel.Copy(p, y[n*g.imageY+(i*g.og+o)*out:][:out], to[(o*g.n+n)*out:])
			}
		}
	}
	for n := range g.n {
		image := e
		if e.Add != nil {
			image.Add = e.Add[n*g.imageY:]
		}
		image.Planes(p, g.oc, out, y[n*g.imageY:][:g.oc*out])
	}
}

// dataSwapped computes the gradient with respect to x.
func dataSwapped[T kernel.Float](p *kernel.Pool, s *Shape, dy, w, dx []T, scratch kernel.Scratch[T]) {
	g := s.geometry()
	u, in := g.swapped(s), g.in.Size()
	to := kernel.Take(scratch, g.cg*g.n*in)
	for i := range g.groups {
		BackwardData(p, &u, exchangedW(p, &g, i, w, scratch), exchangedY(p, &g, i, dy, scratch), to, scratch)
		for n := range g.n {
			for c := range g.cg {
				kernel.Copy(p, dx[(n*g.c+i*g.cg+c)*in:][:in], to[(c*g.n+n)*in:])
			}
		}
	}
}

// weightSwapped computes the gradient with respect to the weights.
func weightSwapped[T kernel.Float](p *kernel.Pool, s *Shape, x, dy, dw []T, scratch kernel.Scratch[T]) {
	g := s.geometry()
	u, ker := g.swapped(s), g.ker.Size()
	to := kernel.Take(scratch, g.cg*g.og*ker)
	for i := range g.groups {
		Forward(p, &u, exchangedX(p, &g, i, x, scratch), exchangedY(p, &g, i, dy, scratch), elementwise.Epilogue[T]{}, to, scratch)
		for o := range g.og {
			for c := range g.cg {
				kernel.Copy(p, dw[((i*g.og+o)*g.cg+c)*ker:][:ker], to[(c*g.og+o)*ker:])
			}
		}
	}
}

// exchangedX returns x of a group as [C/Group, N, In], exchangedW the weights as [C/Group, OC/Group, Kernel], and exchangedY y, or its
// gradient, as [OC/Group, N, Out].
func exchangedX[T kernel.Float](p *kernel.Pool, g *geometry, group int, x []T, scratch kernel.Scratch[T]) []T {
	in := g.in.Size()
	return exchanged(p, g.n, g.c*in, g.cg, in, x[group*g.cg*in:], scratch)
}

func exchangedW[T kernel.Float](p *kernel.Pool, g *geometry, group int, w []T, scratch kernel.Scratch[T]) []T {
	return exchanged(p, g.og, g.k(), g.cg, g.ker.Size(), w[group*g.og*g.k():], scratch)
}

func exchangedY[T kernel.Float](p *kernel.Pool, g *geometry, group int, y []T, scratch kernel.Scratch[T]) []T {
	out := g.out.Size()
	return exchanged(p, g.n, g.oc*out, g.og, out, y[group*g.og*out:], scratch)
}

// exchanged transposes rows, which are stride apart, of columns of size elements; it copies nothing if there is one row, or one column
// without gaps.
func exchanged[T kernel.Float](p *kernel.Pool, rows, stride, columns, size int, from []T, scratch kernel.Scratch[T]) []T {
	if rows == 1 || columns == 1 && stride == size {
		return from[:rows*columns*size]
	}
	to := kernel.Take(scratch, rows*columns*size)
	for r := range rows {
		for c := range columns {
			kernel.Copy(p, to[(c*rows+r)*size:][:size], from[r*stride+c*size:])
		}
	}
	return to
}
