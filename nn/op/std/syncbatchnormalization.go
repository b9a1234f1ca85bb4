package std

import (
	"errors"
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/norm"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/epilogue"
	"gorgonia.org/tensor"
)

// BatchSum replaces x by its sum over all processes that have a part of a batch. node is the normalization that calls it.
// The last element of x is the number of elements of each channel. In a backward pass the other elements are sums of
// gradients.
type BatchSum func(node string, x []float64, backward bool) error

// SyncBatchNormalization returns the set with a BatchNormalization that, in training, normalizes by mean and variance of
// the samples of all processes rather than those of its own (Ioffe and Szegedy, 2015; torch.nn.SyncBatchNorm). sum
// computes sums over the processes; it is called once forward and once backward for each normalization, in the order in
// which they run.
func SyncBatchNormalization(ops op.Set, sum BatchSum) (op.Set, error) {
	forward, backward := ops.Find("", "BatchNormalization"), ops.Find(op.Internal, "BatchNormalizationGrad")
	if forward == nil || backward == nil {
		return ops, errors.New("the set of operators has no BatchNormalization")
	}
	f, b := *forward, *backward
	f.Kernel = func(c *op.Call) (op.Kernel, error) {
		m := batchNormOf(c)
		if !m.train {
			return forward.Kernel(c)
		}
		return mixedPrecision(c, syncNormTrain[float32](m, sum, c.Node), syncNormTrain[float64](m, sum, c.Node)), nil
	}
	f.Scheduling.Patterns = func(c *op.Call) []op.Pattern {
		if batchNormOf(c).train {
			return nil
		}
		return forward.Scheduling.Patterns(c)
	}
	b.Kernel = func(c *op.Call) (op.Kernel, error) {
		m := c.Config.(bnGrad).Norm
		if !m.train {
			return backward.Kernel(c)
		}
		return mixedPrecision(c, syncNormBack[float32](m, sum, c.Node), syncNormBack[float64](m, sum, c.Node)), nil
	}
	b.Scheduling.Patterns = func(c *op.Call) []op.Pattern {
		if c.Config.(bnGrad).Norm.train {
			return nil
		}
		return backward.Scheduling.Patterns(c)
	}
	return ops.With(&f, &b)
}

// syncNormTrain is batchNormTrain with the moments of all processes: each contributes n, n·μ and n·(v
// + μ²) to the sums, for n elements with mean μ and variance v.
func syncNormTrain[T kernel.Float](m batchNorm, sum BatchSum, node string) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		mean, variance := dtype.ElemsAt[T](out, bnUsedMean), dtype.ElemsAt[T](out, bnUsedVar)
		if mean == nil {
			mean = scratch[T](x)(m.c)
		}
		if variance == nil {
			variance = scratch[T](x)(m.c)
		}
		norm.ChannelMoments(pool(x), m.n, m.c, m.space, dtype.Elems[T](in[0]), mean, variance)
		n, sums := float64(m.n*m.space), make([]float64, 2*m.c+1)
		for i := range mean {
			a, v := float64(mean[i]), float64(variance[i])
			sums[i], sums[m.c+i] = n*a, n*(v+a*a)
		}
		sums[2*m.c] = n
		if err := sum(node, sums, false); err != nil {
			return err
		}
		n = sums[2*m.c]
		for i := range mean {
			a := sums[i] / n
			mean[i], variance[i] = T(a), T(math.Max(0, sums[m.c+i]/n-a*a))
		}
		if y := dtype.Elems[T](out[0]); y != nil {
			norm.BatchNormRematerialize(pool(x), m.n, m.c, m.space, T(m.eps), dtype.Elems[T](in[0]), dtype.Elems[T](in[1]), dtype.Elems[T](in[2]), epilogue.AfterAffine[T](epilogue.List{}, in), mean, variance, y)
		}
		copy(dtype.ElemsAt[T](out, bnSavedMean), mean)
		copy(dtype.ElemsAt[T](out, bnSavedVar), variance)
		for _, i := range []int{bnRunningMean, bnNextMean} {
			mix(x, dtype.ElemsAt[T](out, i), dtype.Elems[T](in[3]), mean, T(m.momentum))
			mix(x, dtype.ElemsAt[T](out, i+1), dtype.Elems[T](in[4]), variance, T(m.momentum))
		}
		return nil
	}
}

// syncNormBack computes dscale and dB of this process's samples, and with the sums S of both over all processes
// dX = scale/σ · (dY − S(dB)/n − (X−mean)/σ · S(dscale)/n). dX may be dY.
func syncNormBack[T kernel.Float](m batchNorm, sum BatchSum, node string) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dy, from, scale, mean, variance := dtype.Elems[T](in[0]), dtype.Elems[T](in[1]), dtype.Elems[T](in[2]), dtype.Elems[T](in[3]), dtype.Elems[T](in[4])
		dscale, dbias := dtype.ElemsAt[T](out, 1), dtype.ElemsAt[T](out, 2)
		if dscale == nil {
			dscale = scratch[T](x)(m.c)
		}
		if dbias == nil {
			dbias = scratch[T](x)(m.c)
		}
		norm.BatchNormGrad(pool(x), m.n, m.c, m.space, T(m.eps), true, from, dy, norm.Gate[T]{}, scale, mean, variance, nil, dscale, dbias)
		sums := make([]float64, 2*m.c+1)
		for i := range m.c {
			sums[i], sums[m.c+i] = float64(dscale[i]), float64(dbias[i])
		}
		sums[2*m.c] = float64(m.n * m.space)
		if err := sum(node, sums, true); err != nil {
			return err
		}
		dx := dtype.Elems[T](out[0])
		if dx == nil {
			return nil
		}
		n := sums[2*m.c]
		pool(x).Range(m.n*m.c, max(1, 1<<14/max(1, m.space)), func(lo, hi int) {
			for k := lo; k < hi; k++ {
				i := k % m.c
				invstd := 1 / math.Sqrt(float64(variance[i]+T(m.eps)))
				a := invstd * float64(scale[i])
				slope := -a * sums[i] * invstd / n
				s, b, e := T(a), T(slope), T(-a*sums[m.c+i]/n-slope*float64(mean[i]))
				at := k * m.space
				for j := at; j < at+m.space; j++ {
					dx[j] = s*dy[j] + b*from[j] + e
				}
			}
		})
		return nil
	}
}
