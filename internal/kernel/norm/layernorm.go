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
			mean[r], variance[r] = moments(p, x[r*cols:][:cols])
		}
	})
}

func moments[T kernel.Float](p *kernel.Pool, x []T) (mean, variance T) {
	if len(x) <= sumBlock {
		mean = vector.BlockSum(x) / T(len(x))
		return mean, vector.BlockSumSqDiff(x, mean) / T(len(x))
	}
	m := sumBlocks(p, x, vector.BlockSum[T]) / float64(len(x))
	v := sumBlocks(p, x, func(block []T) T { return vector.BlockSumSqDiff(block, T(m)) }) / float64(len(x))
	return T(m), T(v)
}

// sumBlock is the number of elements whose sum is rounded to T.
const sumBlock = 1 << 14

// sumBlocks adds the sums of the blocks of x.
func sumBlocks[T kernel.Float](p *kernel.Pool, x []T, sum func(block []T) T) (total float64) {
	p.InParts(len(x), func(lo, hi int) {
		for ; lo < hi; lo += sumBlock {
			total += float64(sum(x[lo:min(hi, lo+sumBlock)]))
		}
	})
	return total
}

// LayerNorm computes y = (x-mean)*invstd*scale + bias for each row of x [rows, cols],
// with invstd = 1/√(variance+eps). scale and bias [cols] may be nil. mean and invstd
// [rows] receive the statistics for LayerNormGrad; they may be nil. y may be x.
func LayerNorm[T kernel.Float](p *kernel.Pool, rows, cols int, eps T, x, scale, bias, y, mean, invstd []T) {
	p.Range(rows, kernel.CeilDiv(kernel.ElementGrain, max(cols, 1)), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row := y[r*cols:][:cols]
			m, v := moments(p, x[r*cols:][:cols])
			s := T(1 / math.Sqrt(float64(v+eps)))
			if mean != nil {
				mean[r] = m
			}
			if invstd != nil {
				invstd[r] = s
			}
			p.InParts(cols, func(lo, hi int) {
				normalizePart(x[r*cols:][lo:hi], m, s, part(scale, lo, hi), part(bias, lo, hi), row[lo:hi])
			})
		}
	})
}

// part returns x[lo:hi], nil of nil.
func part[T any](x []T, lo, hi int) []T {
	if x == nil {
		return nil
	}
	return x[lo:hi]
}

// normalizePart is LayerNorm for a part of a row; scale and bias are as long as it is, or nil.
func normalizePart[T kernel.Float](x []T, mean, invstd T, scale, bias, y []T) {
	if scale != nil && bias != nil && kernel.SIMD && kernel.IsFloat32[T]() && len(y) > 0 {
		v := [2]float32{float32(mean), float32(invstd)}
		layerNormV(len(y), &kernel.Float32s(y)[0], &kernel.Float32s(x)[0], &kernel.Float32s(scale)[0], &kernel.Float32s(bias)[0], &v[0])
		return
	}
	elementwise.BinaryScalarInto(elementwise.OpSub, y, x, mean)
	elementwise.BinaryScalarInto(elementwise.OpMul, y, y, invstd)
	if scale != nil {
		elementwise.BinaryInto(elementwise.OpMul, y, y, scale)
	}
	if bias != nil {
		elementwise.BinaryInto(elementwise.OpAdd, y, y, bias)
	}
}

// LayerNormGrad computes the gradients dx [rows, cols], dscale and dbias [cols] from
// dy; each may be nil, and is overwritten. add [rows, cols], which is apart from dx, is added to it; it may be
// nil, and so may scale and scratch.
func LayerNormGrad[T kernel.Float](p *kernel.Pool, rows, cols int, x, scale, mean, invstd, dy, add, dx, dscale, dbias []T, scratch func(n int) []T) {
	shards := max(1, min(p.Threads(), rows*cols/kernel.ElementGrain))
	sums := kernel.Take(scratch, 2*shards*cols)
	kernel.Clear(p, sums)
	p.Run(shards, func(_, i int) {
		ds, db := sums[2*i*cols:][:cols], sums[(2*i+1)*cols:][:cols]
		if scale != nil && dx != nil && kernel.SIMD && kernel.IsFloat32[T]() && cols > 0 {
			for r := i * rows / shards; r < (i+1)*rows/shards; r++ {
				p.Check()
				at := r * cols
				layerNormRowGrad(p, kernel.Float32s(x[at:][:cols]), kernel.Float32s(dy[at:][:cols]), kernel.Float32s(scale[:cols]), float32(mean[r]), float32(invstd[r]), kernel.Float32s(dx[at:][:cols]), kernel.Float32s(ds), kernel.Float32s(db))
				if add != nil {
					p.InParts(cols, func(lo, hi int) {
						elementwise.BinaryInto(elementwise.OpAdd, dx[at:][lo:hi], dx[at:][lo:hi], add[at:][lo:hi])
					})
				}
			}
			return
		}
		buffer := kernel.Borrow[T](2 * cols)
		defer kernel.GiveBack(buffer)
		xhat, g := (*buffer)[:cols], (*buffer)[cols:][:cols]
		for r := i * rows / shards; r < (i+1)*rows/shards; r++ {
			p.Check()
			var a, b T
			p.InParts(cols, func(lo, hi int) {
				d, xhat, g := dy[r*cols:][lo:hi], xhat[lo:hi], g[lo:hi]
				elementwise.BinaryScalarInto(elementwise.OpSub, xhat, x[r*cols:][lo:hi], mean[r])
				elementwise.BinaryScalarInto(elementwise.OpMul, xhat, xhat, invstd[r])
				if dscale != nil {
					elementwise.BinaryInto(elementwise.OpMul, g, d, xhat)
					elementwise.BinaryInto(elementwise.OpAdd, ds[lo:hi], ds[lo:hi], g)
				}
				if dbias != nil {
					elementwise.BinaryInto(elementwise.OpAdd, db[lo:hi], db[lo:hi], d)
				}
				if dx == nil {
					return
				}
				if scale != nil {
					elementwise.BinaryInto(elementwise.OpMul, g, d, scale[lo:hi])
				} else {
					copy(g, d)
				}
				a, b = a+vector.BlockSum(g), b+vector.BlockDot(g, xhat)
			})
			if dx == nil {
				continue
			}
			// dx = invstd * (g - mean(g) - xhat*mean(g*xhat))
			a, b = a/T(cols), b/T(cols)
			p.InParts(cols, func(lo, hi int) {
				out, xhat, g := dx[r*cols:][lo:hi], xhat[lo:hi], g[lo:hi]
				elementwise.BinaryScalarInto(elementwise.OpSub, g, g, a)
				vector.AddScaled(-b, xhat, g)
				elementwise.BinaryScalarInto(elementwise.OpMul, out, g, invstd[r])
				if add != nil {
					elementwise.BinaryInto(elementwise.OpAdd, out, out, add[r*cols:][lo:hi])
				}
			})
		}
	})
	collect := func(dst []T, first int) {
		if dst == nil {
			return
		}
		p.Range(cols, kernel.ElementGrain, func(lo, hi int) {
			copy(dst[lo:hi], sums[first*cols:][lo:hi])
			for i := 1; i < shards; i++ {
				elementwise.BinaryInto(elementwise.OpAdd, dst[lo:hi], dst[lo:hi], sums[(2*i+first)*cols:][lo:hi])
			}
		})
	}
	collect(dscale, 0)
	collect(dbias, 1)
}

// layerNormRowGrad is LayerNormGrad for one row; it adds to dscale and dbias.
func layerNormRowGrad(p *kernel.Pool, x, dy, scale []float32, mean, invstd float32, dx, dscale, dbias []float32) {
	n := len(x)
	s, sums := [4]float32{mean, invstd}, [2]float32{}
	p.InParts(n, func(lo, hi int) {
		var part [2]float32
		layerNormDots(hi-lo, &dy[lo], &x[lo], &scale[lo], &s[0], &dscale[lo], &dbias[lo], &part[0])
		sums[0], sums[1] = sums[0]+part[0], sums[1]+part[1]
	})
	s[2], s[3] = sums[0]/float32(n), sums[1]/float32(n)
	p.InParts(n, func(lo, hi int) { layerNormMixV(hi-lo, &dx[lo], &dy[lo], &scale[lo], &x[lo], &s[0]) })
}
