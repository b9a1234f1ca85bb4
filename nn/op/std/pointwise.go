package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/epilogue"
	"github.com/graft-ml/graft/nn/op/loops"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// pointwise is an elementwise function, with the attributes of a call filled
// in. f is required, or f32 and f64; the other fields are faster or support more types.
type pointwise struct {
	f   func(x float64) float64
	f32 func(p *kernel.Pool, dst, src []float32)
	f64 func(p *kernel.Pool, dst, src []float64)

	// grad is dy·f'(x). need declares which values it reads: "x", "y" = f(x), "xy", or "" for dy alone;
	// the others are passed as 0, and their memory may be reused.
	grad func(x, y, dy float64) float64
	need string
	g32  func(p *kernel.Pool, dx, dy, at []float32) // at is x or y, see need
	g64  func(p *kernel.Pool, dx, dy, at []float64)

	act elementwise.Activation // the same as an Epilogues of other kernels; ActDefault: it is none

	ints  func(x int64) int64   // for integer types; overflow wraps
	uints func(x uint64) uint64 // for unsigned ones; nil: ints serves
}

// pointwiseOp describes an operator on single elements.
type pointwiseOp struct {
	name      string
	doc       string
	since     []int
	types     []op.DType // nil: Floats
	attrs     op.Config  // nil: no attributes
	of        func(c op.Config) pointwise
	noGrad    string
	traits    op.Traits
	versions  []op.Version
	decompose func(*op.Spelling) error
}

// ops returns the operator and its gradient.
func (r pointwiseOp) ops() []*op.Op {
	o := &op.Op{
		Name: r.name, Doc: r.doc, Since: r.since, Versions: r.versions, Decompose: r.decompose, In: "X T", Out: "Y T", Where: op.Where{"T": r.types}, Attrs: r.attrs,
		Infer: op.Same,
		Scheduling: op.Scheduling{
			InPlace:  []int{0},
			Patterns: func(c *op.Call) []op.Pattern { return withLoop(actEpilogue(c, r.of(c.Config).act), r.loop(c)) },
			Rows:     func(*op.Call) *trait.Rows { return &trait.Rows{Out: 1, In: []int{1}} },
		},
		NoGrad: r.noGrad, Couple: op.Elementwise, Traits: r.traits,
		Kernel: func(c *op.Call) (op.Kernel, error) { return r.of(c.Config).kernel(c), nil },
	}
	if r.types == nil {
		o.Where = op.Where{"T": op.Floats()}
	}
	if r.noGrad != "" {
		return []*op.Op{o}
	}
	o.Grad = func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
		if !c.In[0].DType.IsFloat() {
			return nil, nil
		}
		kids := gorgonia.Nodes{dout[0]}
		switch r.of(c.Config).need {
		case "x":
			kids = append(kids, in[0])
		case "y":
			kids = append(kids, out[0])
		case "xy":
			kids = append(kids, in[0], out[0])
		}
		d, err := c.Apply1(pointwiseGrad{r.name, c.Config}, kids...)
		return gorgonia.Nodes{d}, err
	}
	return []*op.Op{o, r.gradOp()}
}

// pointwiseGrad is the configuration of the gradient operator: that of the operator itself.
type pointwiseGrad struct {
	Name string
	Of   op.Config
}

func (g pointwiseGrad) Operator() op.Name { return op.Name{Domain: op.Internal, Name: g.Name + "Grad"} }

func (r pointwiseOp) gradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: r.name + "Grad", Since: []int{1}, Doc: "Gradient of " + r.name + ".",
		In: "dY T, A? T, B? T", Out: "dX T", Where: op.Where{"T": op.Floats()}, Attrs: pointwiseGrad{},
		Infer: op.Same,
		Scheduling: op.Scheduling{
			InPlace: []int{0},
			Patterns: func(c *op.Call) []op.Pattern {
				var list []op.Pattern
				p := r.of(c.Config.(pointwiseGrad).Of)
				if p.act.HasSlope() {
					list = append(list, &epilogue.Step{Kind: epilogue.Slope, Slots: []int{0}, DType: c.In[0].DType, Func: p.act})
				}
				if p.act.Kind == elementwise.ActRelu {
					list = append(list, &gate{dtype: c.In[0].DType})
				}
				return withLoop(list, r.gradLoop(c))
			},
		},
		GradMissing: op.NotTwice, Pinned: "gradient", Decompose: spelled(r.decomposeGrad()),
		Kernel: func(c *op.Call) (op.Kernel, error) {
			p := r.of(c.Config.(pointwiseGrad).Of)
			return floatKernel(c, pointwiseGradKernel(p.need, p.grad, p.g32), pointwiseGradKernel(p.need, p.grad, p.g64)), nil
		},
	}
}

func pointwiseGradKernel[T kernel.Float](need string, f func(x, y, dy float64) float64, fast func(p *kernel.Pool, dx, dy, at []T)) op.Kernel {
	if fast != nil {
		return func(x *op.Exec, out, in []*tensor.Dense) error {
			dy := dtype.Slice[T](in[0])
			at := dtype.ElemsAt[T](in, 1)
			if at == nil {
				at = dy
			}
			fast(pool(x), dtype.Slice[T](out[0]), dy, at)
			return nil
		}
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dx, dy, a, b := dtype.Slice[T](out[0]), dtype.Slice[T](in[0]), dtype.ElemsAt[T](in, 1), dtype.ElemsAt[T](in, 2)
		pool(x).Range(len(dx), 4096, func(lo, hi int) {
			switch need {
			case "x":
				for i := lo; i < hi; i++ {
					dx[i] = T(f(float64(a[i]), 0, float64(dy[i])))
				}
			case "y":
				for i := lo; i < hi; i++ {
					dx[i] = T(f(0, float64(a[i]), float64(dy[i])))
				}
			case "xy":
				for i := lo; i < hi; i++ {
					dx[i] = T(f(float64(a[i]), float64(b[i]), float64(dy[i])))
				}
			default:
				for i := lo; i < hi; i++ {
					dx[i] = T(f(0, 0, float64(dy[i])))
				}
			}
		})
		return nil
	}
}

func (p pointwise) kernel(c *op.Call) op.Kernel {
	t := c.In[0].DType
	if t.IsFloat() {
		return perPrecision(t, mapKernel(p.f, p.f32), mapKernel(p.f, p.f64))
	}
	if t.IsUnsigned() && p.uints != nil {
		f := p.uints
		return viaInt64(func(x int64) int64 { return int64(f(uint64(x))) })
	}
	return viaInt64(p.ints)
}

// mapKernel applies fast, or f to each element.
func mapKernel[T kernel.Float](f func(float64) float64, fast func(p *kernel.Pool, dst, src []T)) op.Kernel {
	if fast == nil {
		fast = func(p *kernel.Pool, dst, src []T) {
			p.Range(len(dst), 2048, func(lo, hi int) {
				for i := lo; i < hi; i++ {
					dst[i] = T(f(float64(src[i])))
				}
			})
		}
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		fast(pool(x), dtype.Slice[T](out[0]), dtype.Slice[T](in[0]))
		return nil
	}
}

// viaInt64 maps elements of any integer type through int64; results wrap.
func viaInt64(f func(int64) int64) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		return inSegments(pool(x), out[0], in[0], func(_ int, dst, src *tensor.Dense) error {
			v, err := dtype.Int64s(src)
			if err != nil {
				return err
			}
			for i := range v {
				v[i] = f(v[i])
			}
			return storeInts(nil, dst, v)
		})
	}
}

// loop of a function of single elements.
func (r pointwiseOp) loop(c *op.Call) *loops.Loop {
	f := r.of(c.Config).f32
	n := loopable(c)
	if f == nil || n == 0 {
		return nil
	}
	return &loops.Loop{N: n, Reads: []loops.Access{{Slot: 0, Inner: 1, Count: n}}, InPlace: []int{0}, Run: func(dst []float32, in []loops.Block) { f(nil, dst, in[0].Elems) }}
}

// gradLoop returns the loop of its gradient.
func (r pointwiseOp) gradLoop(c *op.Call) *loops.Loop {
	f := r.of(c.Config.(pointwiseGrad).Of).g32
	n := loopable(c)
	if f == nil || n == 0 || c.Has(2) {
		return nil
	}
	l := &loops.Loop{N: n, Reads: []loops.Access{{Slot: 0, Inner: 1, Count: n}}, InPlace: []int{0}, Run: func(dst []float32, in []loops.Block) { f(nil, dst, in[0].Elems, in[len(in)-1].Elems) }}
	if c.Has(1) {
		l.Reads = append(l.Reads, loops.Access{Slot: 1, Inner: 1, Count: n})
	}
	return l
}
