package std

import (
	"cmp"
	"slices"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/resample"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

func resampleKernel(c *op.Call) (op.Kernel, error) {
	r, err := resampleOf(c)
	if err != nil {
		return nil, err
	}
	p := poolOf(c)
	taps, err := r.taps(p)
	if err != nil {
		return nil, c.Errorf("%w", err)
	}
	if outsideAny(taps) == nil && (r.Mode == "nearest" || len(taps) == 0) {
		return resampleNearest(p, c, taps)
	}
	shape := c.In[0].Sizes()
	switch t := c.In[0].DType; {
	case t == dtype.Float32:
		return resampleFloats[float32](p, shape, taps, r.Extrapolation)
	case t == dtype.Float64:
		return resampleFloats[float64](p, shape, taps, float64(r.Extrapolation))
	case !t.IsNumeric():
		return nil, c.Errorf("cannot interpolate %v", t)
	}
	f, err := resampleFloats[float64](p, shape, taps, float64(r.Extrapolation))
	if err != nil {
		return nil, err
	}
	return throughFloat64(f), nil
}

// resampleNearest moves elements of any type.
func resampleNearest(p *kernel.Pool, c *op.Call, taps []*axisTaps) (op.Kernel, error) {
	sizes, bytes := c.In[0].Sizes(), int64(0)
	for _, n := range sizes {
		bytes += 8 * int64(n)
	}
	held, err := budget.Made(bytes, func() *mapped {
		m := &mapped{from: rowStrides(sizes), sources: make([][]int, len(sizes))}
		for _, t := range taps {
			m.sources[t.Axis] = t.Index
		}
		for a, n := range sizes {
			if m.sources[a] != nil {
				continue
			}
			m.sources[a] = kernel.Uncleared[int](n)
			for i := range n {
				checkAt(p, i)
				m.sources[a][i] = i
			}
		}
		return m
	})
	if err != nil {
		return nil, c.Errorf("%w", err)
	}
	m := *held
	size := c.In[0].DType.Size()
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		switch p, dst, src := pool(x), out[0].Raw, in[0].Raw; size {
		case 1:
			readMapped(p, m, dst, src, 0)
		case 2:
			readMapped(p, m, words[uint16](dst), words[uint16](src), 0)
		case 4:
			readMapped(p, m, words[uint32](dst), words[uint32](src), 0)
		case 8:
			readMapped(p, m, words[uint64](dst), words[uint64](src), 0)
		default:
			readMapped(p, m, words[[2]uint64](dst), words[[2]uint64](src), [2]uint64{})
		}
		return nil
	}, nil
}

// outsideAny is nil when no index of any axis is outside.
func outsideAny(taps []*axisTaps) []*axisTaps {
	for _, t := range taps {
		if slices.Contains(t.Outside, true) {
			return taps
		}
	}
	return nil
}

func resampleFloats[T kernel.Float](p *kernel.Pool, shape []int, taps []*axisTaps, value T) (op.Kernel, error) {
	var passes []resamplePass[T]
	for _, t := range taps {
		r, err := resamplingOf[T](p, t, shape[t.Axis])
		if err != nil {
			return nil, err
		}
		passes = append(passes, resamplePass[T]{t.Axis, r})
	}
	fill := outsideAny(taps)
	result := slices.Clone(shape)
	for _, p := range passes {
		result[p.axis] = p.New
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dst := dtype.Slice[T](out[0])
		resampleAxes(x, shape, passes, dst, dtype.Slice[T](in[0]))
		fillOutside(pool(x), dst, result, fill, value)
		return nil
	}, nil
}

// resamplePass resamples one axis.
type resamplePass[T kernel.Float] struct {
	axis int
	*resample.Resampling[T]
}

// resamplingOf returns the resampling of an axis of old elements. It is charged to the memory limit.
func resamplingOf[T kernel.Float](p *kernel.Pool, t *axisTaps, old int) (*resample.Resampling[T], error) {
	count := len(t.Index) / max(t.N, 1)
	return budget.Made(resample.Bytes[T](count, len(t.Index)), func() *resample.Resampling[T] {
		return resample.NewResampling[T](p, old, count, func(j int) ([]int, []float64) {
			return t.Index[j*t.N:][:t.N], t.Weight[j*t.N:][:t.N]
		})
	})
}

// resampleAxes resamples the axes one after another, those that shrink most first. Of axes that grow equally, the last
// one, whose elements are contiguous, is first, while the tensor is smallest; of those that shrink equally, the first.
func resampleAxes[T kernel.Float](x *op.Exec, shape []int, passes []resamplePass[T], dst, src []T) {
	if len(passes) == 0 {
		copy(dst, src)
		return
	}
	now, scratch := slices.Clone(shape), scratch[T](x)
	ordered := slices.Clone(passes)
	slices.SortStableFunc(ordered, func(a, b resamplePass[T]) int {
		if d := cmp.Compare(a.New*b.Old, b.New*a.Old); d != 0 {
			return d
		}
		if a.New >= a.Old {
			return b.axis - a.axis
		}
		return a.axis - b.axis
	})
	for i, p := range ordered {
		outer, inner := around(now, p.axis)
		now[p.axis] = p.New
		to := dst
		if i < len(ordered)-1 {
			to = scratch(outer * p.New * inner)
		}
		p.Run(pool(x), outer, inner, to, src)
		src = to
	}
}

// fillOutside sets every element that is outside in any axis.
func fillOutside[T kernel.Float](p *kernel.Pool, dst []T, shape []int, taps []*axisTaps, value T) {
	for _, t := range taps {
		if t.Outside == nil {
			continue
		}
		outer, inner := around(shape, t.Axis)
		for o := range outer {
			p.Check()
			for j, is := range t.Outside {
				checkAt(p, j+1)
				if is {
					d := dst[(o*len(t.Outside)+j)*inner:][:inner]
					for i := range d {
						d[i] = value
					}
				}
			}
		}
	}
}

type resampleGradConfig struct {
	Shape []op.Dim
	Of    *resampling
}

func (resampleGradConfig) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "ResampleGrad"}
}

func resampleGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "ResampleGrad", Since: []int{1}, Decompose: spelled(spellResampleGrad), Doc: "Gradient of Resize: the transposed resampling.",
		In: "dY T", Out: "dX T", Where: op.Where{"T": {dtype.Float32, dtype.Float64}}, Attrs: resampleGradConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			return []op.Type{c.In[0].With(c.Config.(resampleGradConfig).Shape...)}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			cfg := c.Config.(resampleGradConfig)
			taps, err := cfg.Of.taps(poolOf(c))
			if err != nil {
				return nil, c.Errorf("%w", err)
			}
			if c.In[0].DType == dtype.Float64 {
				return resampleBack[float64](poolOf(c), c.In[0].Sizes(), op.Sizes(cfg.Shape), taps)
			}
			return resampleBack[float32](poolOf(c), c.In[0].Sizes(), op.Sizes(cfg.Shape), taps)
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

// resampleBack sums the gradients of the new elements that each old index contributes to.
func resampleBack[T kernel.Float](p *kernel.Pool, from, to []int, taps []*axisTaps) (op.Kernel, error) {
	var passes []resamplePass[T]
	for _, t := range taps {
		r, err := resamplingOf[T](p, t, to[t.Axis])
		if err != nil {
			return nil, err
		}
		back, err := budget.Made(resample.Bytes[T](r.Old, len(t.Index)), func() *resample.Resampling[T] { return r.Back(p) })
		if err != nil {
			return nil, err
		}
		passes = append(passes, resamplePass[T]{t.Axis, back})
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		src := dtype.Slice[T](in[0])
		if fill := outsideAny(taps); fill != nil {
			kept := scratch[T](x)(len(src))
			kernel.Copy(pool(x), kept, src)
			fillOutside(pool(x), kept, from, fill, 0)
			src = kept
		}
		resampleAxes(x, from, passes, dtype.Slice[T](out[0]), src)
		return nil
	}, nil
}
