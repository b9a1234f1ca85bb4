package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
)

// coveringTaps is the number of taps from which a kernel that covers its input is computed as a product of matrices: lists of so many taps
// would take long and more memory than the weights.
const coveringTaps = 1 << 12

// covers reports whether the only output point of each image reads the whole image, each element once, by a large kernel. Then y is, for each
// group, the product of x [N, C/Group·In] and the transposed weights [OC/Group, C/Group·In].
func (g *geometry) covers() bool {
	return g.ker == g.in && g.out.Size() == 1 && g.pad == Triple{} && g.ker.Size() >= coveringTaps && g.n > 0 && g.oc > 0
}

// covering returns the columns of the weights, and the stride between images of x.
func (g *geometry) covering() (k, ldx int) { return g.k(), g.c * g.in.Size() }

// forwardCovering computes y and applies the epilogue.
func forwardCovering[T kernel.Float](p *kernel.Pool, g *geometry, x, w []T, e elementwise.Epilogue[T], y []T) {
	k, ldx := g.covering()
	for i := range g.groups {
		matmul.Gemm(p, false, true, g.n, g.og, k, 1, x[i*k:], ldx, w[i*g.og*k:], k, 0, y[i*g.og:], g.imageY)
	}
	if g.imageY == g.oc {
		e.Planes(p, g.oc, 1, y[:g.n*g.oc])
		return
	}
	for i := range g.n {
		image := e
		if e.Add != nil {
			image.Add = e.Add[i*g.imageY:]
		}
		image.Planes(p, g.oc, 1, y[i*g.imageY:][:g.oc])
	}
}

// dataCovering computes the gradient with respect to x.
func dataCovering[T kernel.Float](p *kernel.Pool, g *geometry, dy, w, dx []T) {
	k, ldx := g.covering()
	for i := range g.groups {
		matmul.Gemm(p, false, false, g.n, k, g.og, 1, dy[i*g.og:], g.oc, w[i*g.og*k:], k, 0, dx[i*k:], ldx)
	}
}

// weightCovering computes the gradient with respect to the weights.
func weightCovering[T kernel.Float](p *kernel.Pool, g *geometry, x, dy, dw []T) {
	k, ldx := g.covering()
	for i := range g.groups {
		matmul.Gemm(p, true, false, g.og, k, g.n, 1, dy[i*g.og:], g.oc, x[i*k:], ldx, 0, dw[i*g.og*k:], k)
	}
}
