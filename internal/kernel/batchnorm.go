package kernel

import "math"

// perChannel runs f for each channel; space is the number of elements of one
// channel of one image and n the number of images.
func perChannel(p *Pool, n, c, space int, f func(c int)) {
	p.Range(c, cdiv(elementGrain, max(n*space, 1)), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			f(i)
		}
	})
}

// ChannelSum sets out[c] to the sum over images and space of x [n, c, space].
func ChannelSum[T Float](p *Pool, n, c, space int, x, out []T) {
	if space == 1 {
		columnSums(p, n, c, x, out)
		return
	}
	perChannel(p, n, c, space, func(ch int) {
		var s T
		for i := range n {
			s += sum(x[(i*c+ch)*space:][:space])
		}
		out[ch] = s
	})
}

// columnSums adds up the rows of x [rows, cols].
func columnSums[T Float](p *Pool, rows, cols int, x, out []T) {
	p.Range(cdiv(cols, nr), max(1, elementGrain/max(nr*rows, 1)), func(lo, hi int) {
		lo, hi = lo*nr, min(cols, hi*nr)
		clear(out[lo:hi])
		for r := range rows {
			binaryVV(OpAdd, out[lo:hi], out[lo:hi], x[r*cols:][lo:hi])
		}
	})
}

// ChannelMoments computes mean and variance (divided by the number of elements) over
// images and space of x [n, c, space], for each channel.
func ChannelMoments[T Float](p *Pool, n, c, space int, x, mean, variance []T) {
	count := T(n * space)
	if space == 1 {
		columnMoments(p, n, c, x, mean, variance)
		return
	}
	perChannel(p, n, c, space, func(ch int) {
		var s, v T
		for i := range n {
			s += sum(x[(i*c+ch)*space:][:space])
		}
		m := s / count
		for i := range n {
			v += sumSqDiff(x[(i*c+ch)*space:][:space], m)
		}
		mean[ch], variance[ch] = m, v/count
	})
}

func columnMoments[T Float](p *Pool, rows, cols int, x, mean, variance []T) {
	columnSums(p, rows, cols, x, mean)
	for i := range mean[:cols] {
		mean[i] /= T(rows)
	}
	clear(variance[:cols])
	for r := range rows {
		for i, v := range x[r*cols:][:cols] {
			d := v - mean[i]
			variance[i] += d * d
		}
	}
	for i := range variance[:cols] {
		variance[i] /= T(rows)
	}
}

// ChannelAffine computes y = x*scale[c] + shift[c] for x and y [n, c, space]; shift
// may be nil, y may be x.
func ChannelAffine[T Float](p *Pool, n, c, space int, x, scale, shift, y []T) {
	if space == 1 {
		p.Range(n, cdiv(elementGrain, max(c, 1)), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				row := y[i*c:][:c]
				binaryVV(OpMul, row, x[i*c:][:c], scale[:c])
				if shift != nil {
					binaryVV(OpAdd, row, row, shift[:c])
				}
			}
		})
		return
	}
	p.Range(n*c, cdiv(elementGrain, max(space, 1)), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := y[i*space:][:space]
			if shift == nil {
				binaryVS(OpMul, row, x[i*space:][:space], scale[i%c])
				continue
			}
			affine(row, x[i*space:][:space], scale[i%c], shift[i%c])
		}
	})
}

// BatchNorm computes y = (x-mean)*scale/√(variance+eps) + bias per channel of x
// [n, c, space]; scale and bias may be nil, y may be x.
func BatchNorm[T Float](p *Pool, n, c, space int, eps T, x, scale, bias, mean, variance, y []T) {
	buffer := borrow[T](2 * c)
	defer giveBack(buffer)
	a, b := (*buffer)[:c], (*buffer)[c:][:c]
	for i := range a {
		a[i] = T(1 / math.Sqrt(float64(variance[i]+eps)))
		if scale != nil {
			a[i] *= scale[i]
		}
		b[i] = -mean[i] * a[i]
		if bias != nil {
			b[i] += bias[i]
		}
	}
	ChannelAffine(p, n, c, space, x, a, b, y)
}

// BatchNormGrad computes the gradients of BatchNorm: dx [n, c, space], dscale and
// dbias [c], each overwritten, each nil where unwanted. With train set, mean and
// variance were computed from x and take part; otherwise they were constants.
// scale may be nil. dx may be dy.
func BatchNormGrad[T Float](p *Pool, n, c, space int, eps T, train bool, x, dy, scale, mean, variance, dx, dscale, dbias []T) {
	count := T(n * space)
	if space == 1 {
		columnNormGrad(p, n, c, eps, train, x, dy, scale, mean, variance, dx, dscale, dbias)
		return
	}
	perChannel(p, n, c, space, func(ch int) {
		invstd := T(1 / math.Sqrt(float64(variance[ch]+eps)))
		var sumDY, sumDYX T // Σ dy, Σ dy*(x-mean)
		if dscale != nil || dbias != nil || train {
			sumDY, sumDYX = channelDots(n, c, space, ch, x, dy, mean[ch])
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
			b = -a * sumDYX * invstd * invstd / count
			e = -a*sumDY/count - b*mean[ch]
		}
		for i := range n {
			at := (i*c + ch) * space
			d, g, v := dx[at:][:space], dy[at:][:space], x[at:][:space]
			if train {
				affine2(d, g, v, a, b, e)
			} else {
				binaryVS(OpMul, d, g, a)
			}
		}
	})
}

// channelDots is Σ dy and Σ dy*(x-mean) of one channel.
func channelDots[T Float](n, c, space, ch int, x, dy []T, mean T) (s, sx T) {
	for i := range n {
		at := (i*c + ch) * space
		g, v := dy[at:][:space], x[at:][:space]
		s += sum(g)
		sx += dotDiff(v, g, mean)
	}
	return s, sx
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
