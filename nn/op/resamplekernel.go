package op

import (
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

func resampleKernel(c *Call) (engine.Kernel, error) {
	r, err := resampleOf(c)
	if err != nil {
		return nil, err
	}
	taps := r.taps(c)
	if outsideAny(taps) == nil && (r.Mode == "nearest" || len(taps) == 0) {
		return resampleNearest(c, taps)
	}
	shape := c.In[0].Sizes()
	switch t := c.In[0].DType; {
	case t == dtype.Float32:
		return resampleFloats[float32](shape, taps, r.Extrapolation), nil
	case t == dtype.Float64:
		return resampleFloats[float64](shape, taps, float64(r.Extrapolation)), nil
	case !t.IsNumeric():
		return nil, c.Errorf("cannot interpolate %v", t)
	}
	f := resampleFloats[float64](shape, taps, float64(r.Extrapolation))
	return func(x *engine.Exec, out, in []*tensor.Dense) error {
		src, err := dtype.ConvertTo(dtype.Float64, in[0])
		if err != nil {
			return err
		}
		dst := dtype.New(dtype.Float64, out[0].Shape()...)
		if err := f(x, []*tensor.Dense{dst}, []*tensor.Dense{src}); err != nil {
			return err
		}
		return dtype.Convert(out[0], dst)
	}, nil
}

// resampleNearest moves elements of any type.
func resampleNearest(c *Call, taps []axisTaps) (engine.Kernel, error) {
	m := mapped{from: rowStrides(c.In[0].Sizes())}
	for _, d := range c.In[0].Shape {
		same := make([]int, d.Size)
		for i := range same {
			same[i] = i
		}
		m.sources = append(m.sources, same)
	}
	for _, t := range taps {
		m.sources[t.Axis] = t.Index
	}
	size := c.In[0].DType.Size()
	return func(x *engine.Exec, out, in []*tensor.Dense) error {
		switch p, dst, src := x.Pool(), out[0].Raw, in[0].Raw; size {
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

// outsideAny is nil when no index of any axis lies outside.
func outsideAny(taps []axisTaps) []axisTaps {
	for _, t := range taps {
		if slices.Contains(t.Outside, true) {
			return taps
		}
	}
	return nil
}

func resampleFloats[T kernel.Float](shape []int, taps []axisTaps, value T) engine.Kernel {
	fill := outsideAny(taps)
	return func(x *engine.Exec, out, in []*tensor.Dense) error {
		src, scratch := dtype.Slice[T](in[0]), engine.Scratch[T](x)
		now := slices.Clone(shape)
		for i, t := range taps {
			outer, inner := around(now, t.Axis)
			old := now[t.Axis]
			now[t.Axis] = len(t.Index) / max(t.N, 1)
			dst := dtype.Slice[T](out[0])
			if i < len(taps)-1 {
				dst = scratch(outer * now[t.Axis] * inner)
			}
			resampleAxis(x.Pool(), t, dst, src, outer, old, now[t.Axis], inner)
			src = dst
		}
		if len(taps) == 0 {
			copy(dtype.Slice[T](out[0]), src)
		}
		fillOutside(dtype.Slice[T](out[0]), now, fill, value)
		return nil
	}
}

// resampleAxis makes [outer, count, inner] of [outer, old, inner].
func resampleAxis[T kernel.Float](p *kernel.Pool, t axisTaps, dst, src []T, outer, old, count, inner int) {
	if inner == 1 {
		p.Range(outer, max(1, 4096/max(1, count*t.N)), func(lo, hi int) {
			for o := lo; o < hi; o++ {
				resampleRow(t, dst[o*count:][:count], src[o*old:][:old])
			}
		})
		return
	}
	p.Range(outer*count, max(1, 4096/max(1, inner*t.N)), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			o, j := r/count, r%count
			d := dst[r*inner : (r+1)*inner]
			for k := range t.N {
				w := T(t.Weight[j*t.N+k])
				s := src[(o*old+t.Index[j*t.N+k])*inner:][:inner]
				if k == 0 {
					kernel.Scale(nil, w, d, s)
				} else {
					kernel.Axpy(nil, w, s, d)
				}
			}
		}
	})
}

// resampleRow makes one row of another.
func resampleRow[T kernel.Float](t axisTaps, dst, src []T) {
	if t.N == 2 {
		for j := range dst {
			at, w := t.Index[2*j:][:2], t.Weight[2*j:][:2]
			dst[j] = T(w[0])*src[at[0]] + T(w[1])*src[at[1]]
		}
		return
	}
	for j := range dst {
		v := T(0)
		for k, at := range t.Index[j*t.N:][:t.N] {
			v += T(t.Weight[j*t.N+k]) * src[at]
		}
		dst[j] = v
	}
}

// fillOutside sets every element that lies outside in any axis.
func fillOutside[T kernel.Float](dst []T, shape []int, taps []axisTaps, value T) {
	for _, t := range taps {
		if t.Outside == nil {
			continue
		}
		outer, inner := around(shape, t.Axis)
		for o := range outer {
			for j, is := range t.Outside {
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
	Shape []Dim
	Taps  []axisTaps
}

func (resampleGradConfig) Op() *Op { return standard(Internal, "ResampleGrad") }

func resampleGradOp() *Op {
	return &Op{
		Domain: Internal, Name: "ResampleGrad", Since: []int{1}, Doc: "Gradient of Resize: the transposed resampling.",
		In: "dY T", Out: "dX T", Where: Where{"T": {dtype.Float32, dtype.Float64}}, Attrs: resampleGradConfig{},
		Infer: func(c *Call) ([]Type, error) {
			return []Type{c.In[0].With(c.Config.(resampleGradConfig).Shape...)}, nil
		},
		Kernel: func(c *Call) (engine.Kernel, error) {
			cfg := c.Config.(resampleGradConfig)
			if c.In[0].DType == dtype.Float64 {
				return resampleBack[float64](c.In[0].Sizes(), sizes(cfg.Shape), cfg.Taps), nil
			}
			return resampleBack[float32](c.In[0].Sizes(), sizes(cfg.Shape), cfg.Taps), nil
		},
		GradMissing: notTwice, Pinned: "gradient",
	}
}

// resampleBack goes through the axes in reverse and adds up what each old index gave.
func resampleBack[T kernel.Float](from, to []int, taps []axisTaps) engine.Kernel {
	return func(x *engine.Exec, out, in []*tensor.Dense) error {
		src, scratch := dtype.Slice[T](in[0]), engine.Scratch[T](x)
		if fill := outsideAny(taps); fill != nil {
			kept := scratch(len(src))
			copy(kept, src)
			fillOutside(kept, from, fill, 0)
			src = kept
		}
		now := slices.Clone(from)
		for i := len(taps) - 1; i >= 0; i-- {
			t := taps[i]
			outer, inner := around(now, t.Axis)
			count, old := now[t.Axis], to[t.Axis]
			now[t.Axis] = old
			dst := dtype.Slice[T](out[0])
			if i > 0 {
				dst = scratch(outer * old * inner)
			}
			resampleAxisBack(x.Pool(), t, dst, src, outer, old, count, inner)
			src = dst
		}
		if len(taps) == 0 {
			copy(dtype.Slice[T](out[0]), src)
		}
		return nil
	}
}

func resampleAxisBack[T kernel.Float](p *kernel.Pool, t axisTaps, dst, src []T, outer, old, count, inner int) {
	p.Range(outer, max(1, 4096/max(1, inner*count*t.N)), func(lo, hi int) {
		clear(dst[lo*old*inner : hi*old*inner])
		for o := lo; o < hi; o++ {
			if inner == 1 {
				d := dst[o*old:][:old]
				for j, v := range src[o*count:][:count] {
					for k, at := range t.Index[j*t.N:][:t.N] {
						d[at] += T(t.Weight[j*t.N+k]) * v
					}
				}
				continue
			}
			for j := range count {
				s := src[(o*count+j)*inner:][:inner]
				for k := range t.N {
					d := dst[(o*old+t.Index[j*t.N+k])*inner:][:inner]
					kernel.Axpy(nil, T(t.Weight[j*t.N+k]), s, d)
				}
			}
		}
	})
}
