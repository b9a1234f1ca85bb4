package kernel

import "math"

// Gate is an activation between a normalization and what follows, as its gradient sees it: the
// gradient passes where Y, the activation's output, is neither below Lo nor above Hi; without Y
// everywhere.
type Gate[T Float] struct {
	Y      []T
	Lo, Hi T
}

// open tells whether the gradient of element i passes.
func (g *Gate[T]) open(i int) bool { return g.Y == nil || g.Y[i] >= g.Lo && g.Y[i] <= g.Hi }

// BatchNormGrad computes the gradients of BatchNorm: dx [n, c, space], dscale and dbias [c], each
// overwritten, each nil where unwanted. With train set, mean and variance were computed from x and
// take part; otherwise they were constants. dy is the gradient behind the gate. scale may be nil.
// dx may be dy.
func BatchNormGrad[T Float](p *Pool, n, c, space int, eps T, train bool, x, dy []T, gate Gate[T], scale, mean, variance, dx, dscale, dbias []T) {
	if space == 1 {
		if gate.Y != nil {
			through := borrow[T](len(dy))
			defer giveBack(through)
			dy = gate.through((*through)[:len(dy)], dy)
		}
		columnNormGrad(p, n, c, eps, train, x, dy, scale, mean, variance, dx, dscale, dbias)
		return
	}
	perChannel(p, n, c, space, func(ch int) {
		channel := plane[T]{n, c, space, ch}
		invstd := T(1 / math.Sqrt(float64(variance[ch]+eps)))
		var sumDY, sumDYX T // Σ dy, Σ dy*(x-mean)
		if dscale != nil || dbias != nil || train {
			sumDY, sumDYX = channel.dots(&gate, x, dy, mean[ch])
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
			channel.scale(&gate, dy, a, dx)
			return
		}
		// dx = a*(dy - mean(dy) - xhat*mean(dy*xhat)) = a*dy + b*x + e
		count := T(n * space)
		b := -a * sumDYX * invstd * invstd / count
		channel.mix(&gate, x, dy, a, b, -a*sumDY/count-b*mean[ch], dx)
	})
}

// through is dy where it passes, else 0, in dst.
func (g *Gate[T]) through(dst, dy []T) []T {
	for i, d := range dy {
		dst[i] = 0
		if g.open(i) {
			dst[i] = d
		}
	}
	return dst
}

// columnNormGrad is BatchNormGrad for x [rows, cols]: all columns at a time, row by row.
func columnNormGrad[T Float](p *Pool, rows, cols int, eps T, train bool, x, dy, scale, mean, variance, dx, dscale, dbias []T) {
	buffer := borrow[T](5 * cols)
	defer giveBack(buffer)
	part := func(i int) []T { return (*buffer)[i*cols:][:cols] }
	sumDY, sumDYX, a, b, e := part(0), part(1), part(2), part(3), part(4)
	clear((*buffer)[:2*cols])
	for r := range rows {
		g := dy[r*cols:][:cols]
		binaryVV(OpAdd, sumDY, sumDY, g)
		binaryVV(OpSub, a, x[r*cols:][:cols], mean[:cols])
		binaryVV(OpMul, a, a, g)
		binaryVV(OpAdd, sumDYX, sumDYX, a)
	}
	clear(b)
	clear(e)
	for i := range a {
		invstd := T(1 / math.Sqrt(float64(variance[i]+eps)))
		a[i] = invstd
		if scale != nil {
			a[i] *= scale[i]
		}
		if train {
			b[i] = -a[i] * sumDYX[i] * invstd * invstd / T(rows)
			e[i] = -a[i]*sumDY[i]/T(rows) - b[i]*mean[i]
		}
		if dscale != nil {
			dscale[i] = sumDYX[i] * invstd
		}
	}
	if dbias != nil {
		copy(dbias[:cols], sumDY)
	}
	if dx == nil {
		return
	}
	p.Range(rows, cdiv(elementGrain, max(cols, 1)), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			d, v := dx[r*cols:][:cols], x[r*cols:][:cols]
			for i, g := range dy[r*cols:][:cols] {
				d[i] = a[i]*g + b[i]*v[i] + e[i]
			}
		}
	})
}
