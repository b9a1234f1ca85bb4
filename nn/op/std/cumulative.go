package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// CumSumConfig has the attributes of CumSum.
type CumSumConfig struct {
	Exclusive bool `onnx:"exclusive"` // exclude each element from its own sum
	Reverse   bool `onnx:"reverse"`   // accumulate from the end of the axis
}

// Operator makes CumSumConfig a Config.
func (CumSumConfig) Operator() op.Name { return op.Name{Name: "CumSum"} }

// CumProdConfig has the attributes of CumProd, those of CumSum.
type CumProdConfig CumSumConfig

// Operator makes CumProdConfig a Config.
func (CumProdConfig) Operator() op.Name { return op.Name{Name: "CumProd"} }

func cumSum() *op.Op {
	return &op.Op{
		Name: "CumSum", Since: []int{11, 14},
		Doc: "Running sums along an axis.",
		In:  "x T, axis Taxis", Out: "y T", Where: op.Where{"T": op.Numeric(), "Taxis": op.Indices()}, Attrs: CumSumConfig{},
		Infer: op.Same, Kernel: widened(cumKernel), Scheduling: op.Scheduling{InPlace: []int{0}},
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			cfg := c.Config.(CumSumConfig)
			cfg.Reverse = !cfg.Reverse
			d, err := c.Apply1(cfg, dout[0], in[1])
			return gorgonia.Nodes{d, nil}, err
		},
		Couple: coupleCum,
	}
}

func cumProd() *op.Op {
	return &op.Op{
		Name: "CumProd", Since: []int{26},
		Doc: "Running products along an axis.",
		In:  "x T, axis Taxis", Out: "y T", Where: op.Where{"T": op.Numeric(), "Taxis": op.Indices()}, Attrs: CumProdConfig{},
		Infer: op.Same, Kernel: widened(cumKernel), Scheduling: op.Scheduling{InPlace: []int{0}},
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := c.Apply1(cumProdGradConfig(c.Config.(CumProdConfig)), in[0], in[1], dout[0])
			return gorgonia.Nodes{d, nil}, err
		},
		Couple: coupleCum,
	}
}

func cumKernel(c *op.Call) (op.Kernel, error) {
	cfg, product := CumSumConfig{}, false
	switch k := c.Config.(type) {
	case CumSumConfig:
		cfg = k
	case CumProdConfig:
		cfg, product = CumSumConfig(k), true
	}
	return perNumber(c, cumOf[float32](c, cfg, product), cumOf[float64](c, cfg, product), cumOf[int64](c, cfg, product), cumOf[uint64](c, cfg, product))
}

// cumLanes reads the axis, which may be computed.
func cumLanes(c *op.Call, axis *tensor.Dense) (lanes, error) {
	a, err := firstInt(c, 1, axis)
	if err != nil {
		return lanes{}, err
	}
	if a, err = c.Axis(a, len(c.In[0].Shape)); err != nil {
		return lanes{}, err
	}
	return lanesOf(c.In[0].Sizes(), a), nil
}

func cumOf[T number](c *op.Call, cfg CumSumConfig, product bool) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		l, err := cumLanes(c, in[1])
		if err != nil {
			return err
		}
		dst, src := dtype.Slice[T](out[0]), dtype.Slice[T](in[0])
		if d, ok := any(dst).([]float32); ok && l.step >= shortRun && l.n > 0 && !cfg.Exclusive {
			cumRows(pool(x), l, cfg.Reverse, product, d, any(src).([]float32))
			return nil
		}
		l.each(x, func(k int) {
			at, step := l.at(k), l.step
			if cfg.Reverse {
				at, step = at+(l.n-1)*step, -step
			}
			var run T
			if product {
				run = 1
			}
			for i := range l.n {
				checkAt(pool(x), i+1)
				v := src[at]
				if cfg.Exclusive {
					dst[at] = run
				}
				if product {
					run *= v
				} else {
					run += v
				}
				if !cfg.Exclusive {
					dst[at] = run
				}
				at += step
			}
		})
		return nil
	}
}

// cumRows accumulates many lanes together, row by row.
func cumRows(p *kernel.Pool, l lanes, reverse, product bool, dst, src []float32) {
	op := elementwise.OpAdd
	if product {
		op = elementwise.OpMul
	}
	p.Range(l.outer, max(1, 1<<14/(l.n*l.step)), func(lo, hi int) {
		for o := lo; o < hi; o++ {
			row := func(x []float32, i int) []float32 {
				if reverse {
					i = l.n - 1 - i
				}
				return x[(o*l.n+i)*l.step:][:l.step]
			}
			copy(row(dst, 0), row(src, 0))
			for i := 1; i < l.n; i++ {
				p.Check()
				elementwise.Binary(nil, op, row(dst, i), row(dst, i-1), row(src, i))
			}
		}
	})
}

// coupleCum couples every axis except the one that is summed along; if that is unknown, none is
// coupled.
func coupleCum(c *op.Call) []coupling.Coupling {
	n, err := c.Ints(1)
	if err != nil || len(n) != 1 {
		return nil
	}
	axis, err := c.Axis(n[0], len(c.In[0].Shape))
	if err != nil {
		return nil
	}
	return coupleOthers(c, axis)
}

type cumProdGradConfig CumSumConfig

func (cumProdGradConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "CumProdGrad"} }

func cumProdGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "CumProdGrad", Since: []int{1}, Doc: "Gradient of CumProd.",
		In: "x T, axis Taxis, dY T", Out: "dX T",
		Where: op.Where{"T": {dtype.Float32, dtype.Float64}, "Taxis": op.Indices()}, Attrs: cumProdGradConfig{},
		Infer: op.Same,
		Kernel: func(c *op.Call) (op.Kernel, error) {
			if c.In[0].DType == dtype.Float64 {
				return cumProdGradOf[float64](c), nil
			}
			return cumProdGradOf[float32](c), nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

// cumProdGradOf runs the products p forward and their gradients backward: p' = p·x.
func cumProdGradOf[T kernel.Float](c *op.Call) op.Kernel {
	cfg := c.Config.(cumProdGradConfig)
	return func(e *op.Exec, out, in []*tensor.Dense) error {
		l, err := cumLanes(c, in[1])
		if err != nil {
			return err
		}
		dx, x, dy := dtype.Slice[T](out[0]), dtype.Slice[T](in[0]), dtype.Slice[T](in[2])
		l.each(e, func(k int) {
			at, step := l.at(k), l.step
			if cfg.Reverse {
				at, step = at+(l.n-1)*step, -step
			}
			pace, work := pool(e).Pace(), min(l.step, 512) // elements in different pages, which may have to be cleared
			run := T(1)
			for range l.n {
				pace.Did(work)
				dx[at] = run
				run *= x[at]
				at += step
			}
			var d T
			for range l.n {
				pace.Did(work)
				at -= step
				if !cfg.Exclusive {
					d += dy[at]
				}
				dx[at] *= d
				d *= x[at]
				if cfg.Exclusive {
					d += dy[at]
				}
			}
		})
		return nil
	}
}
