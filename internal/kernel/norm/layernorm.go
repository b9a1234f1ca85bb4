package norm

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// RowMoments computes mean and variance (divided by cols) of each row of x [rows, cols].
func RowMoments[T kernel.Float](p *kernel.Pool, rows, cols int, x, mean, variance []T) {
	p.Range(rows, kernel.CeilDiv(kernel.ElementGrain, max(cols, 1)), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			mean[r], variance[r] = moments(x[r*cols:][:cols])
		}
	})
}

func moments[T kernel.Float](x []T) (mean, variance T) {
	mean = vector.BlockSum(x) / T(len(x))
	return mean, vector.BlockSumSqDiff(x, mean) / T(len(x))
}

// LayerNorm computes y = (x-mean)*invstd*scale + bias for each row of x [rows, cols],
// with invstd = 1/√(variance+eps). scale and bias [cols] may be nil. mean and invstd
// [rows] receive what LayerNormGrad needs; they may be nil. y may be x.
func LayerNorm[T kernel.Float](p *kernel.Pool, rows, cols int, eps T, x, scale, bias, y, mean, invstd []T) {
	p.Range(rows, kernel.CeilDiv(kernel.ElementGrain, max(cols, 1)), func(lo, hi int) {
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
			if scale != nil && bias != nil && kernel.SIMD && kernel.IsFloat32[T]() && cols > 0 {
				v := [2]float32{float32(m), float32(s)}
				layerNormV(cols, &kernel.Float32s(row)[0], &kernel.Float32s(x)[r*cols], &kernel.Float32s(scale[:cols])[0], &kernel.Float32s(bias[:cols])[0], &v[0])
				continue
			}
			elementwise.BinaryScalarInto(elementwise.OpSub, row, x[r*cols:][:cols], m)
			elementwise.BinaryScalarInto(elementwise.OpMul, row, row, s)
			if scale != nil {
				elementwise.BinaryInto(elementwise.OpMul, row, row, scale[:cols])
			}
			if bias != nil {
				elementwise.BinaryInto(elementwise.OpAdd, row, row, bias[:cols])
			}
		}
	})
}

// LayerNormGrad computes the gradients dx [rows, cols], dscale and dbias [cols] from
// dy; each may be nil, and is overwritten. add [rows, cols], which is apart from dx, is added to it; it may be
// nil, and so may scale and scratch.
func LayerNormGrad[T kernel.Float](p *kernel.Pool, rows, cols int, x, scale, mean, invstd, dy, add, dx, dscale, dbias []T, scratch func(n int) []T) {
	pieces := max(1, min(p.Threads(), rows*cols/kernel.ElementGrain))
	sums := kernel.Take(scratch, 2*pieces*cols)
	clear(sums)
	p.Run(pieces, func(_, i int) {
		ds, db := sums[2*i*cols:][:cols], sums[(2*i+1)*cols:][:cols]
		if scale != nil && dx != nil && kernel.SIMD && kernel.IsFloat32[T]() && cols > 0 {
			for r := i * rows / pieces; r < (i+1)*rows/pieces; r++ {
				p.Check()
				at := r * cols
				layerNormRowGrad(kernel.Float32s(x[at:][:cols]), kernel.Float32s(dy[at:][:cols]), kernel.Float32s(scale[:cols]), float32(mean[r]), float32(invstd[r]), kernel.Float32s(dx[at:][:cols]), kernel.Float32s(ds), kernel.Float32s(db))
				if add != nil {
					elementwise.BinaryInto(elementwise.OpAdd, dx[at:][:cols], dx[at:][:cols], add[at:][:cols])
				}
			}
			return
		}
		buffer := kernel.Borrow[T](2 * cols)
		defer kernel.GiveBack(buffer)
		xhat, g := (*buffer)[:cols], (*buffer)[cols:][:cols]
		for r := i * rows / pieces; r < (i+1)*rows/pieces; r++ {
			p.Check()
			d := dy[r*cols:][:cols]
			elementwise.BinaryScalarInto(elementwise.OpSub, xhat, x[r*cols:][:cols], mean[r])
			elementwise.BinaryScalarInto(elementwise.OpMul, xhat, xhat, invstd[r])
			if dscale != nil {
				elementwise.BinaryInto(elementwise.OpMul, g, d, xhat)
				elementwise.BinaryInto(elementwise.OpAdd, ds, ds, g)
			}
			if dbias != nil {
				elementwise.BinaryInto(elementwise.OpAdd, db, db, d)
			}
			if dx == nil {
				continue
			}
			if scale != nil {
				elementwise.BinaryInto(elementwise.OpMul, g, d, scale[:cols])
			} else {
				copy(g, d)
			}
			// dx = invstd * (g - mean(g) - xhat*mean(g*xhat))
			a, b := vector.BlockSum(g)/T(cols), vector.BlockDot(g, xhat)/T(cols)
			out := dx[r*cols:][:cols]
			elementwise.BinaryScalarInto(elementwise.OpSub, g, g, a)
			vector.AddScaled(-b, xhat, g)
			elementwise.BinaryScalarInto(elementwise.OpMul, out, g, invstd[r])
			if add != nil {
				elementwise.BinaryInto(elementwise.OpAdd, out, out, add[r*cols:][:cols])
			}
		}
	})
	collect := func(dst []T, first int) {
		if dst == nil {
			return
		}
		copy(dst[:cols], sums[first*cols:])
		for i := 1; i < pieces; i++ {
			elementwise.BinaryInto(elementwise.OpAdd, dst[:cols], dst[:cols], sums[(2*i+first)*cols:][:cols])
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
