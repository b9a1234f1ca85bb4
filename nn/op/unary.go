package op

import (
	"math"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// unary is one row of the table of operators that map each element by itself and have no attributes.
type unary struct {
	name  string
	doc   string
	since []int
	// f computes the element in double precision; f32 and f64, if set, are kernels on slices.
	f   func(x float64) float64
	f32 func(p *kernel.Pool, dst, src []float32)
	f64 func(p *kernel.Pool, dst, src []float64)
	// grad is dy·f'(x), from x, y = f(x) and dy; nil: see noGrad.
	grad   func(x, y, dy float64) float64
	noGrad string
	ints   func(x int64) int64 // for integer types, where the operator takes them
}

var sqrt2OverPi = 2 / math.Sqrt(math.Pi)

// unaries is the table. Add a row to add an operator.
func unaries() []unary {
	return []unary{
		{name: "Abs", doc: "Absolute value.", since: []int{1, 6, 13}, f: math.Abs, ints: func(x int64) int64 { return max(x, -x) },
			grad: func(x, y, dy float64) float64 { return dy * sign(x) }},
		{name: "Relu", doc: "max(0, x).", since: []int{1, 6, 13, 14}, f: relu, f32: kernel.Relu[float32], f64: kernel.Relu[float64],
			ints: func(x int64) int64 { return max(x, 0) }, grad: func(x, y, dy float64) float64 { return step(x) * dy }},
		{name: "Exp", doc: "e to the power of x.", since: []int{1, 6, 13}, f: math.Exp, f32: kernel.Exp[float32], f64: kernel.Exp[float64],
			grad: func(x, y, dy float64) float64 { return dy * y }},
	}
}

func relu(x float64) float64 {
	if x > 0 || x != x {
		return x
	}
	return 0
}

func step(x float64) float64 {
	if x > 0 {
		return 1
	}
	return 0
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // 0, and NaN
}

// unaryOps makes the operators of the table, and for each a gradient operator.
func unaryOps() []*Op {
	var list []*Op
	for _, u := range unaries() {
		list = append(list, u.op())
		if u.grad != nil {
			list = append(list, u.gradOp())
		}
	}
	return list
}

func (u unary) op() *Op {
	o := &Op{
		Name: u.name, Doc: u.doc, Since: u.since, In: "X T", Out: "Y T",
		Where: Where{"T": Floats},
		Infer: Same, Kernel: u.kernel, InPlace: []int{0}, NoGrad: u.noGrad,
		Couple: Elementwise,
	}
	if u.ints != nil {
		o.Where = Where{"T": Numeric}
	}
	if u.grad != nil {
		o.Grad = func(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := Apply1(standard(Internal, u.name+"Grad"), in[0], out[0], dout[0])
			return gorgonia.Nodes{d}, err
		}
	}
	return o
}

func (u unary) kernel(c *Call) (engine.Kernel, error) {
	switch t := c.In[0].DType; {
	case t == dtype.Float32:
		f := u.f32
		if f == nil {
			f = func(p *kernel.Pool, dst, src []float32) {
				kernel.Map(p, dst, src, func(x float32) float32 { return float32(u.f(float64(x))) })
			}
		}
		return func(x *engine.Exec, out, in []*tensor.Dense) error {
			f(x.Pool(), dtype.Slice[float32](out[0]), dtype.Slice[float32](in[0]))
			return nil
		}, nil
	case t == dtype.Float64:
		f := u.f64
		if f == nil {
			f = func(p *kernel.Pool, dst, src []float64) { kernel.Map(p, dst, src, u.f) }
		}
		return func(x *engine.Exec, out, in []*tensor.Dense) error {
			f(x.Pool(), dtype.Slice[float64](out[0]), dtype.Slice[float64](in[0]))
			return nil
		}, nil
	case t.IsFloat():
		return viaFloat64(u.f), nil
	default:
		return viaInt64(u.ints), nil
	}
}

// viaFloat64 maps elements of any floating type through double precision.
func viaFloat64(f func(float64) float64) engine.Kernel {
	return func(x *engine.Exec, out, in []*tensor.Dense) error {
		v, err := dtype.Float64s(in[0])
		if err != nil {
			return err
		}
		for i := range v {
			v[i] = f(v[i])
		}
		return storeFloats(out[0], v)
	}
}

func storeFloats(dst *tensor.Dense, v []float64) error {
	d, err := dtype.FromSlice(v, dst.Shape()...)
	if err != nil {
		return err
	}
	return dtype.Convert(dst, d)
}

// viaInt64 maps elements of any integer type through int64.
func viaInt64(f func(int64) int64) engine.Kernel {
	return func(x *engine.Exec, out, in []*tensor.Dense) error {
		v, err := dtype.Int64s(in[0])
		if err != nil {
			return err
		}
		for i := range v {
			v[i] = f(v[i])
		}
		d, err := dtype.FromSlice(v, out[0].Shape()...)
		if err != nil {
			return err
		}
		return dtype.Convert(out[0], d)
	}
}

func (u unary) gradOp() *Op {
	return &Op{
		Domain: Internal, Name: u.name + "Grad", Since: []int{1}, Doc: "Gradient of " + u.name + ".",
		In: "X T, Y T, dY T", Out: "dX T", Where: Where{"T": {dtype.Float32, dtype.Float64}},
		Infer: Same, InPlace: []int{2}, NoGrad: "gradient", Pinned: "gradient",
		Kernel: func(c *Call) (engine.Kernel, error) {
			if c.In[0].DType == dtype.Float64 {
				return gradKernel[float64](u.grad), nil
			}
			return gradKernel[float32](u.grad), nil
		},
	}
}

func gradKernel[T kernel.Float](f func(x, y, dy float64) float64) engine.Kernel {
	return func(x *engine.Exec, out, in []*tensor.Dense) error {
		dx, a, y, dy := dtype.Slice[T](out[0]), dtype.Slice[T](in[0]), dtype.Slice[T](in[1]), dtype.Slice[T](in[2])
		x.Pool().Range(len(dx), 4096, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				dx[i] = T(f(float64(a[i]), float64(y[i]), float64(dy[i])))
			}
		})
		return nil
	}
}
