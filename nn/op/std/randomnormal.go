package std

import (
	"math"
	"sync/atomic"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// RandomNormalConfig has the attributes of RandomNormal.
type RandomNormalConfig struct {
	DType op.DType `onnx:"dtype,default=float32"` // of the output
	Mean  float32  `onnx:"mean"`                  // expectation
	Scale *float32 `onnx:"scale,nil=1"`           // standard deviation; 1 when nil
	Seed  *float32 `onnx:"seed"`                  // mixed into the seed of the run; nil: that alone
	Shape []int    `onnx:"shape,required"`        // of the output
}

// Operator makes RandomNormalConfig a Config.
func (RandomNormalConfig) Operator() op.Name { return op.Name{Name: "RandomNormal"} }

// RandomUniformConfig has the attributes of RandomUniform.
type RandomUniformConfig struct {
	DType op.DType `onnx:"dtype,default=float32"` // of the output
	Low   float32  `onnx:"low"`                   // lower bound, included
	High  *float32 `onnx:"high,nil=1"`            // upper bound, excluded; 1 when nil
	Seed  *float32 `onnx:"seed"`                  // mixed into the seed of the run; nil: that alone
	Shape []int    `onnx:"shape,required"`        // of the output
}

// Operator makes RandomUniformConfig a Config.
func (RandomUniformConfig) Operator() op.Name { return op.Name{Name: "RandomUniform"} }

// RandomNormalLikeConfig has the attributes of RandomNormalLike.
type RandomNormalLikeConfig struct {
	DType op.DType `onnx:"dtype"`       // of the output; undefined: the input's
	Mean  float32  `onnx:"mean"`        // expectation
	Scale *float32 `onnx:"scale,nil=1"` // standard deviation; 1 when nil
	Seed  *float32 `onnx:"seed"`        // mixed into the seed of the run; nil: that alone
}

// Operator makes RandomNormalLikeConfig a Config.
func (RandomNormalLikeConfig) Operator() op.Name { return op.Name{Name: "RandomNormalLike"} }

// RandomUniformLikeConfig has the attributes of RandomUniformLike.
type RandomUniformLikeConfig struct {
	DType op.DType `onnx:"dtype"`      // of the output; undefined: the input's
	Low   float32  `onnx:"low"`        // lower bound, included
	High  *float32 `onnx:"high,nil=1"` // upper bound, excluded; 1 when nil
	Seed  *float32 `onnx:"seed"`       // mixed into the seed of the run; nil: that alone
}

// Operator makes RandomUniformLikeConfig a Config.
func (RandomUniformLikeConfig) Operator() op.Name { return op.Name{Name: "RandomUniformLike"} }

// fillRandom describes an operator that fills a tensor with independent numbers.
type fillRandom struct {
	name, doc string
	attrs     op.Config
	like      bool
	// of returns the type (Undefined: the input's), the shape, the seed and, for an element type, the function that draws a number.
	of func(c op.Config) (op.DType, []int, *float32, func(op.DType) func(key uint64, i int) float64)
}

func randomFills() []*op.Op {
	normal := func(mean float32, scale *float32) func(op.DType) func(uint64, int) float64 {
		s := orFloat(scale, 1)
		return func(op.DType) func(uint64, int) float64 {
			return func(key uint64, i int) float64 { return float64(mean) + s*gauss(key, i) }
		}
	}
	flat := func(low float32, high *float32) func(op.DType) func(uint64, int) float64 {
		return func(t op.DType) func(uint64, int) float64 {
			l, h := float64(low), orFloat(high, 1)
			last := max(l, below(t, h)) // what is next to high rounds to it
			return func(key uint64, i int) float64 { return min(l+(h-l)*uniform(key, i), last) }
		}
	}
	rows := []fillRandom{
		{name: "RandomNormal", doc: "Normally distributed numbers.", attrs: RandomNormalConfig{},
			of: func(c op.Config) (op.DType, []int, *float32, func(op.DType) func(uint64, int) float64) {
				r := c.(RandomNormalConfig)
				return r.DType, r.Shape, r.Seed, normal(r.Mean, r.Scale)
			}},
		{name: "RandomUniform", doc: "Evenly distributed numbers.", attrs: RandomUniformConfig{},
			of: func(c op.Config) (op.DType, []int, *float32, func(op.DType) func(uint64, int) float64) {
				r := c.(RandomUniformConfig)
				return r.DType, r.Shape, r.Seed, flat(r.Low, r.High)
			}},
		{name: "RandomNormalLike", doc: "Normally distributed numbers in the shape of the input.", attrs: RandomNormalLikeConfig{}, like: true,
			of: func(c op.Config) (op.DType, []int, *float32, func(op.DType) func(uint64, int) float64) {
				r := c.(RandomNormalLikeConfig)
				return r.DType, nil, r.Seed, normal(r.Mean, r.Scale)
			}},
		{name: "RandomUniformLike", doc: "Evenly distributed numbers in the shape of the input.", attrs: RandomUniformLikeConfig{}, like: true,
			of: func(c op.Config) (op.DType, []int, *float32, func(op.DType) func(uint64, int) float64) {
				r := c.(RandomUniformLikeConfig)
				return r.DType, nil, r.Seed, flat(r.Low, r.High)
			}},
	}
	var list []*op.Op
	for _, r := range rows {
		list = append(list, r.op())
	}
	return list
}

func (r fillRandom) op() *op.Op {
	o := &op.Op{
		Name: r.name, Doc: r.doc, Since: []int{1, 22}, Out: "output T", Attrs: r.attrs, Random: true,
		NoGrad: "random numbers do not depend on the input", Pinned: "a new shape would draw other numbers",
	}
	if r.like {
		o.In = "input T1"
	}
	o.Infer = func(c *op.Call) ([]op.Type, error) {
		t, shape, _, _ := r.of(c.Config)
		if !r.like {
			if _, err := dtype.Count(shape); err != nil {
				return nil, c.Errorf("%w", err)
			}
			return randomType(c, op.Shaped(t, shape...))
		}
		if t == dtype.Undefined {
			t = c.In[0].DType
		}
		return randomType(c, c.In[0].Of(t))
	}
	o.Kernel = func(c *op.Call) (op.Kernel, error) {
		_, _, seed, draw := r.of(c.Config)
		f := draw(c.Out[0].DType)
		return randomKernel(c, seed, func(key uint64, i int, _ []float64) float64 { return f(key, i) }), nil
	}
	return o
}

// below returns the largest number of type t that is less than x.
func below(t op.DType, x float64) float64 {
	var bits, smallest int // of the significand; the exponent of the smallest number
	switch t {
	case dtype.Float16:
		bits, smallest = 11, -24
	case dtype.BFloat16:
		bits, smallest = 8, -133
	case dtype.Float32:
		bits, smallest = 24, -149
	default:
		return math.Nextafter(x, math.Inf(-1))
	}
	_, e := math.Frexp(math.Nextafter(x, math.Inf(-1)))
	step := math.Ldexp(1, max(e-bits, smallest))
	return (math.Ceil(x/step) - 1) * step
}

func randomType(c *op.Call, t op.Type) ([]op.Type, error) {
	if !t.DType.IsFloat() || t.DType.Bits() < 16 {
		return nil, c.Errorf("dtype is %v, want a floating type", t.DType)
	}
	return []op.Type{t}, nil
}

// randomKernel fills output 0 with f(key, i, elements of input 0 if it has numbers).
func randomKernel(c *op.Call, seed *float32, f func(key uint64, i int, in []float64) float64) op.Kernel {
	var bits *uint64
	if seed != nil {
		b := uint64(math.Float32bits(*seed))
		bits = &b
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		key := streamKey(c, inputAt(in, len(c.In)), bits)
		var v []float64
		if len(c.In) > 0 && c.Op.Name == "Bernoulli" {
			release, err := x.Reserve(8 * int64(in[0].Shape().TotalSize()))
			if err != nil {
				return err
			}
			defer release()
			if v, err = float64s(pool(x), in[0]); err != nil {
				return err
			}
		}
		return fillFloats(x, out[0], func(i int) float64 { return f(key, i, v) })
	}
}

// fillFloats sets element i of d, of any numeric type, to f(i).
func fillFloats(x *op.Exec, d *tensor.Dense, f func(i int) float64) error {
	t, n := dtype.Of(d.Dtype()), d.Shape().TotalSize()
	if t.Bits() < 8 { // elements share bytes
		v := x.Float64(n)
		for i := range v {
			checkAt(pool(x), i)
			v[i] = f(i)
		}
		from, err := dtype.FromSlice(v, d.Shape()...)
		if err != nil {
			return err
		}
		return convert(pool(x), dtype.Cast{}, d, from)
	}
	switch t {
	case dtype.Float32:
		s := dtype.Slice[float32](d)
		pool(x).Range(n, 1024, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				s[i] = float32(f(i))
			}
		})
		return nil
	case dtype.Float64:
		s := dtype.Slice[float64](d)
		pool(x).Range(n, 1024, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				s[i] = f(i)
			}
		})
		return nil
	}
	const block = 1024
	var failed atomic.Pointer[error]
	pool(x).Range((n+block-1)/block, 1, func(lo, hi int) {
		v := make([]float64, block)
		for b := lo; b < hi; b++ {
			begin, end := b*block, min((b+1)*block, n)
			for i := begin; i < end; i++ {
				v[i-begin] = f(i)
			}
			if err := storeFloats(t, d.Raw[begin*t.Size():end*t.Size()], v[:end-begin]); err != nil {
				failed.Store(&err)
			}
		}
	})
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// storeFloats converts v to elements of type t.
func storeFloats(t op.DType, dst []byte, v []float64) error {
	from, err := dtype.FromSlice(v, len(v))
	if err != nil {
		return err
	}
	to := dtype.New(t, len(v))
	if err := dtype.Convert(to, from); err != nil {
		return err
	}
	copy(dst, to.Raw)
	return nil
}
