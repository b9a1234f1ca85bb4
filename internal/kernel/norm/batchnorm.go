package norm

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/reduce"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// perChannel runs f for each channel; space is the number of elements of one
// channel of one image and n the number of images.
func perChannel(p *kernel.Pool, n, c, space int, f func(c int)) {
	const channel, plane = 256, 32 // overhead per channel and per plane, in elements
	p.Range(c, kernel.CeilDiv(kernel.ElementGrain, n*(space+plane)+channel), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			f(i)
		}
	})
}

// ChannelSum sets out[c] to the sum over images and space of x [n, c, space]. Threads process consecutive planes, usually the
// ones that they computed.
func ChannelSum[T kernel.Float](p *kernel.Pool, n, c, space int, x, out []T) {
	if space == 1 {
		reduce.Reduce(p, reduce.ReduceSum, 1, n, c, out, x)
		return
	}
	planes := kernel.Borrow[T](n * c)
	defer kernel.GiveBack(planes)
	p.Range(n*c, kernel.CeilDiv(kernel.ElementGrain, max(space, 1)), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			var s T
			p.InParts(space, func(lo, hi int) { s += vector.BlockSum(x[i*space:][lo:hi]) })
			(*planes)[i] = s
		}
	})
	reduce.Reduce(p, reduce.ReduceSum, 1, n, c, out, *planes)
}

// ChannelMoments computes mean and variance (divided by the number of elements) over
// images and space of x [n, c, space], for each channel.
func ChannelMoments[T kernel.Float](p *kernel.Pool, n, c, space int, x, mean, variance []T) {
	if space == 1 {
		eachPanel(p, n, c, func(s columnPanel[T]) { s.moments(x, mean, variance) })
		return
	}
	perChannel(p, n, c, space, func(ch int) {
		mean[ch], variance[ch] = channel[T](p, n, c, space, ch).moments(x)
	})
}

// ChannelAffine computes y = x*scale[c] + shift[c] for x and y [n, c, space]; shift
// may be nil, y may be x.
func ChannelAffine[T kernel.Float](p *kernel.Pool, n, c, space int, x, scale, shift, y []T) {
	if space == 1 {
		p.Range(n, kernel.CeilDiv(kernel.ElementGrain, max(c, 1)), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				row := y[i*c:][:c]
				elementwise.BinaryInto(elementwise.OpMul, row, x[i*c:][:c], scale[:c])
				if shift != nil {
					elementwise.BinaryInto(elementwise.OpAdd, row, row, shift[:c])
				}
			}
		})
		return
	}
	p.Range(n*c, kernel.CeilDiv(kernel.ElementGrain, max(space, 1)), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			p.InParts(space, func(lo, hi int) {
				row, x := y[i*space:][lo:hi], x[i*space:][lo:hi]
				if shift == nil {
					elementwise.BinaryScalarInto(elementwise.OpMul, row, x, scale[i%c])
				} else {
					vector.Affine(row, x, scale[i%c], shift[i%c])
				}
			})
		}
	})
}

// BatchNorm computes y = (x-mean)*scale/√(variance+eps) + bias per channel of x
// [n, c, space]; scale and bias may be nil, y may be x.
func BatchNorm[T kernel.Float](p *kernel.Pool, n, c, space int, eps T, x, scale, bias, mean, variance, y []T) {
	buffer := kernel.Borrow[T](2 * c)
	defer kernel.GiveBack(buffer)
	a, b := (*buffer)[:c], (*buffer)[c:][:c]
	p.Range(c, kernel.FunctionGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			a[i], b[i] = normAffine(i, eps, scale, bias, mean, variance)
		}
	})
	ChannelAffine(p, n, c, space, x, a, b, y)
}

// BatchNormTrain computes mean and variance (divided by the number of elements) of each channel of
// x [n, c, space], as ChannelMoments does, and y as BatchNorm and then e do. Channel by channel, so
// that x comes from memory once. scale and bias may be nil, y may be x; e has no Scale and Shift.
func BatchNormTrain[T kernel.Float](p *kernel.Pool, n, c, space int, eps T, x, scale, bias []T, e elementwise.Epilogue[T], mean, variance, y []T) {
	if space == 1 {
		eachPanel(p, n, c, func(s columnPanel[T]) {
			s.moments(x, mean, variance)
			s.normalize(&e, eps, x, scale, bias, mean, variance, y)
		})
		return
	}
	perChannel(p, n, c, space, func(ch int) {
		of := channel[T](p, n, c, space, ch)
		mean[ch], variance[ch] = of.moments(x)
		of.normalize(ch, &e, eps, x, scale, bias, mean, variance, y)
	})
}

// BatchNormRematerialize computes the y of BatchNormTrain, to the last bit, from the mean and variance that
// it found.
func BatchNormRematerialize[T kernel.Float](p *kernel.Pool, n, c, space int, eps T, x, scale, bias []T, e elementwise.Epilogue[T], mean, variance, y []T) {
	if space == 1 {
		eachPanel(p, n, c, func(s columnPanel[T]) { s.normalize(&e, eps, x, scale, bias, mean, variance, y) })
		return
	}
	perChannel(p, n, c, space, func(ch int) {
		channel[T](p, n, c, space, ch).normalize(ch, &e, eps, x, scale, bias, mean, variance, y)
	})
}

// normAffine returns the normalization of channel i as y = x*a + b.
func normAffine[T kernel.Float](i int, eps T, scale, bias, mean, variance []T) (a, b T) {
	a = T(1 / math.Sqrt(float64(variance[i]+eps)))
	if scale != nil {
		a *= scale[i]
	}
	b = -mean[i] * a
	if bias != nil {
		b += bias[i]
	}
	return a, b
}

// normalize computes channel ch, which p is, of BatchNormRematerialize.
func (p plane[T]) normalize(ch int, e *elementwise.Epilogue[T], eps T, x, scale, bias, mean, variance, y []T) {
	a, b := normAffine(ch, eps, scale, bias, mean, variance)
	p.affine(e, a, b, x, y)
}
