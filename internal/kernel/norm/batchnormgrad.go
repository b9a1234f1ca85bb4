package norm

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
)

// Gate is the gradient of a clipping activation after a normalization: the gradient passes where Y,
// the activation's output, is neither below Lo nor above Hi; if Y is nil, everywhere.
type Gate[T kernel.Float] struct {
	Y      []T
	Lo, Hi T
}

// open reports whether the gradient of element i passes.
func (g *Gate[T]) open(i int) bool { return g.Y == nil || g.Y[i] >= g.Lo && g.Y[i] <= g.Hi }

// BatchNormGrad computes the gradients of BatchNorm: dx [n, c, space], dscale and dbias [c], each
// overwritten, each nil where unwanted. With train set, mean and variance were computed from x and
// take part; otherwise they were constants. dy is the gradient after the gate. scale may be nil.
// dx may be dy.
func BatchNormGrad[T kernel.Float](p *kernel.Pool, n, c, space int, eps T, train bool, x, dy []T, gate Gate[T], scale, mean, variance, dx, dscale, dbias []T) {
	if space == 1 {
		eachPanel(p, n, c, func(s columnPanel[T]) {
			s.gradient(eps, train, x, dy, &gate, scale, mean, variance, dx, dscale, dbias)
		})
		return
	}
	perChannel(p, n, c, space, func(ch int) {
		of := channel[T](p, n, c, space, ch)
		invstd := T(1 / math.Sqrt(float64(variance[ch]+eps)))
		var sumDY, sumDYX T // Σ dy, Σ dy*(x-mean)
		if dscale != nil || dbias != nil || train {
			sumDY, sumDYX = of.dots(&gate, x, dy, mean[ch])
		}
		if dscale != nil {
			dscale[ch] = sumDYX * invstd
		}
		if dbias != nil {
			dbias[ch] = sumDY
		}
		if dx == nil {
			return
		}
		a := invstd
		if scale != nil {
			a *= scale[ch]
		}
		if !train {
			of.scale(&gate, dy, a, dx)
			return
		}
		// dx = a*(dy - mean(dy) - xhat*mean(dy*xhat)) = a*dy + b*x + e
		count := T(n * space)
		b := -a * sumDYX * invstd * invstd / count
		of.mix(&gate, x, dy, a, b, -a*sumDY/count-b*mean[ch], dx)
	})
}
