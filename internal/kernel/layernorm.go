package kernel

import "math"

// RowMoments computes mean and variance (divided by cols) of each row of x [rows, cols].
func RowMoments[T Float](p *Pool, rows, cols int, x, mean, variance []T) {
	p.Range(rows, cdiv(elementGrain, max(cols, 1)), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			mean[r], variance[r] = moments(x[r*cols:][:cols])
		}
	})
}

func moments[T Float](x []T) (mean, variance T) {
	mean = sum(x) / T(len(x))
	return mean, sumSqDiff(x, mean) / T(len(x))
}

// LayerNorm computes y = (x-mean)*invstd*scale + bias for each row of x [rows, cols],
// with invstd = 1/√(variance+eps). scale and bias [cols] may be nil. mean and invstd
// [rows] receive what LayerNormGrad needs; they may be nil. y may be x.
func LayerNorm[T Float](p *Pool, rows, cols int, eps T, x, scale, bias, y, mean, invstd []T) {
	p.Range(rows, cdiv(elementGrain, max(cols, 1)), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row := y[r*cols:][:cols]
			m, v := moments(x[r*cols:][:cols])
			s := T(1 / math.Sqrt(float64(v+eps)))
			if mean != nil {
				mean[r] = m
			}
			if invstd != nil {
				invstd[r] = s
			}
			if scale != nil && bias != nil && simd && single[T]() && cols > 0 {
				v := [2]float32{float32(m), float32(s)}
				layerNormV(cols, &as32(row)[0], &as32(x)[r*cols], &as32(scale[:cols])[0], &as32(bias[:cols])[0], &v[0])
				continue
			}
			binaryVS(OpSub, row, x[r*cols:][:cols], m)
			binaryVS(OpMul, row, row, s)
			if scale != nil {
				binaryVV(OpMul, row, row, scale[:cols])
			}
			if bias != nil {
				binaryVV(OpAdd, row, row, bias[:cols])
			}
		}
	})
}

// LayerNormGrad computes the gradients dx [rows, cols], dscale and dbias [cols] from
// dy; each may be nil, and is overwritten. add [rows, cols], which is apart from dx, is added to it; it may be
// nil, and so may scale and scratch.
func LayerNormGrad[T Float](p *Pool, rows, cols int, x, scale, mean, invstd, dy, add, dx, dscale, dbias []T, scratch func(n int) []T) {
	pieces := max(1, min(p.Threads(), rows*cols/elementGrain))
	sums := take(scratch, 2*pieces*cols)
	clear(sums)
	p.Run(pieces, func(_, i int) {
		ds, db := sums[2*i*cols:][:cols], sums[(2*i+1)*cols:][:cols]
		if scale != nil && dx != nil && simd && single[T]() && cols > 0 {
			for r := i * rows / pieces; r < (i+1)*rows/pieces; r++ {
				at := r * cols
				layerNormRowGrad(as32(x[at:][:cols]), as32(dy[at:][:cols]), as32(scale[:cols]), float32(mean[r]), float32(invstd[r]), as32(dx[at:][:cols]), as32(ds), as32(db))
				if add != nil {
					binaryVV(OpAdd, dx[at:][:cols], dx[at:][:cols], add[at:][:cols])
				}
			}
			return
		}
		buffer := Borrow[T](2 * cols)
		defer GiveBack(buffer)
		xhat, g := (*buffer)[:cols], (*buffer)[cols:][:cols]
		for r := i * rows / pieces; r < (i+1)*rows/pieces; r++ {
			d := dy[r*cols:][:cols]
			binaryVS(OpSub, xhat, x[r*cols:][:cols], mean[r])
			binaryVS(OpMul, xhat, xhat, invstd[r])
			if dscale != nil {
				binaryVV(OpMul, g, d, xhat)
				binaryVV(OpAdd, ds, ds, g)
			}
			if dbias != nil {
				binaryVV(OpAdd, db, db, d)
			}
			if dx == nil {
				continue
			}
			if scale != nil {
				binaryVV(OpMul, g, d, scale[:cols])
			} else {
				copy(g, d)
			}
			// dx = invstd * (g - mean(g) - xhat*mean(g*xhat))
			a, b := sum(g)/T(cols), dot(g, xhat)/T(cols)
			out := dx[r*cols:][:cols]
			binaryVS(OpSub, g, g, a)
			axpy(-b, xhat, g)
			binaryVS(OpMul, out, g, invstd[r])
			if add != nil {
				binaryVV(OpAdd, out, out, add[r*cols:][:cols])
			}
		}
	})
	collect := func(dst []T, first int) {
		if dst == nil {
			return
		}
		copy(dst[:cols], sums[first*cols:])
		for i := 1; i < pieces; i++ {
			binaryVV(OpAdd, dst[:cols], dst[:cols], sums[(2*i+first)*cols:][:cols])
		}
	}
	collect(dscale, 0)
	collect(dbias, 1)
}

// layerNormRowGrad is LayerNormGrad for one row; it adds to dscale and dbias.
func layerNormRowGrad(x, dy, scale []float32, mean, invstd float32, dx, dscale, dbias []float32) {
	n := len(x)
	s, sums := [4]float32{mean, invstd}, [2]float32{}
	layerNormDots(n, &dy[0], &x[0], &scale[0], &s[0], &dscale[0], &dbias[0], &sums[0])
	s[2], s[3] = sums[0]/float32(n), sums[1]/float32(n)
	layerNormMixV(n, &dx[0], &dy[0], &scale[0], &x[0], &s[0])
}
