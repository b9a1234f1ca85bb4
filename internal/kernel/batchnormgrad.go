package kernel

import "math"

// Gate is an activation between a normalization and what follows, as its gradient sees it: the
// gradient passes where Y, the activation's output, is above 0, or with Clip where it is neither
// below Lo nor above Hi. Everything passes the zero value.
type Gate[T Float] struct {
	Y      []T
	Clip   bool
	Lo, Hi T
}

// pass returns the part of dy that passes, in dst or dy itself, for elements from at on.
func (g *Gate[T]) pass(dst, dy []T, at int) []T {
	if g.Y == nil {
		return dy
	}
	dst, y := dst[:len(dy)], g.Y[at:][:len(dy)]
	if g.Clip {
		clipGradInto(dst, dy, y, g.Lo, g.Hi)
	} else {
		reluGradInto(dst, dy, y)
	}
	return dst
}

// BatchNormGrad computes the gradients of BatchNorm: dx [n, c, space], dscale and dbias [c], each
// overwritten, each nil where unwanted. With train set, mean and variance were computed from x and
// take part; otherwise they were constants. dy is the gradient behind the gate. scale may be nil.
// dx may be dy.
func BatchNormGrad[T Float](p *Pool, n, c, space int, eps T, train bool, x, dy []T, gate Gate[T], scale, mean, variance, dx, dscale, dbias []T) {
	if space == 1 {
		if gate.Y != nil {
			through := borrow[T](len(dy))
			defer giveBack(through)
			p.Range(len(dy), elementGrain, func(lo, hi int) { gate.pass((*through)[lo:hi], dy[lo:hi], lo) })
			dy = (*through)[:len(dy)]
		}
		columnNormGrad(p, n, c, eps, train, x, dy, scale, mean, variance, dx, dscale, dbias)
		return
	}
	p.Range(c, cdiv(elementGrain, max(n*space, 1)), func(lo, hi int) {
		var block [epilogueBlock]T
		for ch := lo; ch < hi; ch++ {
			channelNormGrad(planeRows{n, c, space, ch}, eps, train, x, dy, &gate, block[:], scale, mean, variance, dx, dscale, dbias)
		}
	})
}

// channelNormGrad is BatchNormGrad for one channel; block is for its use.
func channelNormGrad[T Float](r planeRows, eps T, train bool, x, dy []T, gate *Gate[T], block, scale, mean, variance, dx, dscale, dbias []T) {
	ch := r.ch
	invstd := T(1 / math.Sqrt(float64(variance[ch]+eps)))
	var sumDY, sumDYX T // Σ dy, Σ dy*(x-mean)
	if dscale != nil || dbias != nil || train {
		sumDY, sumDYX = gateDots(r, x, dy, gate, block, mean[ch])
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
	// dx = a*(dy - mean(dy) - xhat*mean(dy*xhat)) = a*dy + b*x + e
	var b, e T
	if train {
		count := T(r.n * r.space)
		b = -a * sumDYX * invstd * invstd / count
		e = -a*sumDY/count - b*mean[ch]
	}
	gateNormGrad(r, x, dy, gate, block, a, b, e, train, dx)
}

// gateDots is Σ dy and Σ dy*(x-mean) of one channel behind the gate.
func gateDots[T Float](r planeRows, x, dy []T, g *Gate[T], block []T, mean T) (s, sx T) {
	for i := range r.n {
		for at, end := r.at(i), r.at(i)+r.space; at < end; at += epilogueBlock {
			hi := min(end, at+epilogueBlock)
			d := g.pass(block, dy[at:hi], at)
			s += sum(d)
			sx += dotDiff(x[at:hi], d, mean)
		}
	}
	return s, sx
}

// gateNormGrad is dx = a*dy + b*x + e of one channel behind the gate; without train b and e are 0.
func gateNormGrad[T Float](r planeRows, x, dy []T, g *Gate[T], block []T, a, b, e T, train bool, dx []T) {
	for i := range r.n {
		for at, end := r.at(i), r.at(i)+r.space; at < end; at += epilogueBlock {
			hi := min(end, at+epilogueBlock)
			d := g.pass(block, dy[at:hi], at)
			if train {
				affine2(dx[at:hi], d, x[at:hi], a, b, e)
			} else {
				binaryVS(OpMul, dx[at:hi], d, a)
			}
		}
	}
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
