package op

import (
	"math"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// reduceGradKind names the derivative of a reduction.
type reduceGradKind int

const (
	gradSum reduceGradKind = iota
	gradMean
	gradExtreme
	gradProd
	gradL1
	gradL2
	gradLogSum
	gradLogSumExp
	gradSumSquare
)

// needs says which of the input x and the output y the derivative reads.
func (k reduceGradKind) needs() (x, y bool) {
	switch k {
	case gradSum, gradMean:
		return false, false
	case gradLogSum:
		return false, true
	case gradL1, gradSumSquare:
		return true, false
	}
	return true, true
}

type reduceGradConfig struct {
	Kind  reduceGradKind
	Shape []Dim // of the input
	Axes  []int // that were reduced
}

func (reduceGradConfig) Op() *Op { return standard(Internal, "ReduceGrad") }

func reduceGrad(c *Call, kind reduceGradKind, x, y, dy *gorgonia.Node) (*gorgonia.Node, error) {
	marks, _, err := reduced(c)
	if err != nil {
		return nil, err
	}
	cfg := reduceGradConfig{kind, c.In[0].Shape, marked(marks)}
	needX, needY := kind.needs()
	if !needX {
		x = nil
	}
	if !needY {
		y = nil
	}
	return Apply1(cfg, dy, x, y)
}

func reduceGradOp() *Op {
	return &Op{
		Domain: Internal, Name: "ReduceGrad", Since: []int{1}, Doc: "Gradient of the reductions.",
		In: "dY T, X? T, Y? T", Out: "dX T", Where: Where{"T": {dtype.Float32, dtype.Float64}}, Attrs: reduceGradConfig{},
		Infer: func(c *Call) ([]Type, error) {
			return []Type{c.In[0].With(c.Config.(reduceGradConfig).Shape...)}, nil
		},
		Kernel: func(c *Call) (engine.Kernel, error) {
			cfg := c.Config.(reduceGradConfig)
			if c.In[0].DType == dtype.Float64 {
				return reduceGradKernel[float64](cfg), nil
			}
			return reduceGradKernel[float32](cfg), nil
		},
		GradMissing: notTwice, Pinned: "gradient",
	}
}

func reduceGradKernel[T kernel.Float](cfg reduceGradConfig) engine.Kernel {
	shape := sizes(cfg.Shape)
	back := backTo(shape, cfg.Axes)
	n, step := back.shape[len(back.shape)-1], back.strides[len(back.strides)-1]
	count := T(1)
	for _, a := range cfg.Axes {
		count *= T(shape[a])
	}
	return func(e *engine.Exec, out, in []*tensor.Dense) error {
		dx, dy := dtype.Slice[T](out[0]), dtype.Slice[T](in[0])
		var x, y []T
		if in[1] != nil {
			x = dtype.Slice[T](in[1])
		}
		if in[2] != nil {
			y = dtype.Slice[T](in[2])
		}
		if cfg.Kind == gradMean || cfg.Kind == gradSum {
			spreadBack(e.Pool(), back, dx, dy, cfg.Kind == gradMean, count)
			return nil
		}
		f := reduceDerivative(cfg.Kind, x, y, count)
		switch cfg.Kind {
		case gradExtreme:
			f = extremeDerivative(back, x, y, engine.Scratch[T](e))
		case gradProd:
			f = productDerivative(back, x, len(dy), engine.Scratch[T](e))
		}
		back.rows(e.Pool(), func(row, at int) {
			for i := row * n; i < (row+1)*n; i++ {
				dx[i] = dy[at] * f(i, at)
				at += step
			}
		})
		return nil
	}
}

// spreadBack gives every element the gradient of its sum or mean.
func spreadBack[T kernel.Float](p *kernel.Pool, back strided, dx, dy []T, mean bool, count T) {
	n, step := back.shape[len(back.shape)-1], back.strides[len(back.strides)-1]
	factor := T(1)
	if mean {
		factor = 1 / count
	}
	back.rows(p, func(row, at int) {
		d := dx[row*n:][:n]
		if step == 0 {
			v := dy[at] * factor
			for i := range d {
				d[i] = v
			}
			return
		}
		for i := range d {
			d[i] = dy[at] * factor
			at += step
		}
	})
}

// reduceDerivative is the derivative of output element j by input element i.
func reduceDerivative[T kernel.Float](kind reduceGradKind, x, y []T, count T) func(i, j int) T {
	switch kind {
	case gradMean:
		return func(int, int) T { return 1 / count }
	case gradL1:
		return func(i, _ int) T { return T(sign(float64(x[i]))) }
	case gradL2:
		return func(i, j int) T {
			if y[j] == 0 {
				return 0
			}
			return x[i] / y[j]
		}
	case gradLogSum:
		return func(_, j int) T { return T(math.Exp(-float64(y[j]))) }
	case gradLogSumExp:
		return func(i, j int) T { return exp(x[i] - y[j]) }
	case gradSumSquare:
		return func(i, _ int) T { return 2 * x[i] }
	}
	return func(int, int) T { return 1 }
}

// extremeDerivative shares the gradient equally among elements that are the largest together.
func extremeDerivative[T kernel.Float](back strided, x, y []T, scratch func(int) []T) func(i, j int) T {
	ties := scratch(len(y))
	clear(ties)
	n, step := back.shape[len(back.shape)-1], back.strides[len(back.strides)-1]
	back.rows(nil, func(row, at int) {
		for i := row * n; i < (row+1)*n; i++ {
			if x[i] == y[at] {
				ties[at]++
			}
			at += step
		}
	})
	return func(i, j int) T {
		if x[i] != y[j] {
			return 0
		}
		return 1 / ties[j]
	}
}

// productDerivative is the product of the other elements, zeros among them counted apart.
func productDerivative[T kernel.Float](back strided, x []T, outputs int, scratch func(int) []T) func(i, j int) T {
	product, zeros := scratch(outputs), scratch(outputs)
	for j := range product {
		product[j], zeros[j] = 1, 0
	}
	n, step := back.shape[len(back.shape)-1], back.strides[len(back.strides)-1]
	back.rows(nil, func(row, at int) {
		for i := row * n; i < (row+1)*n; i++ {
			if x[i] == 0 {
				zeros[at]++
			} else {
				product[at] *= x[i]
			}
			at += step
		}
	})
	return func(i, j int) T {
		switch {
		case zeros[j] == 0:
			return product[j] / x[i]
		case zeros[j] == 1 && x[i] == 0:
			return product[j]
		}
		return 0
	}
}
