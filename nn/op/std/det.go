package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func det() *op.Op {
	return &op.Op{
		Name: "Det", Since: []int{11, 22}, Doc: "Determinants of square matrices.",
		In: "X T", Out: "Y T", Where: op.Where{"T": op.Floats()},
		Infer: func(c *op.Call) ([]op.Type, error) {
			if c.In[0].Unranked {
				return op.Same(c)
			}
			s := c.In[0].Shape
			n := len(s) - 2
			if n < 0 || s[n].Differ(s[n+1]) {
				return nil, c.Mismatch(0, "square matrices", c.In[0])
			}
			return []op.Type{c.In[0].With(s[:n]...)}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			n := lastSize(c)
			return floatKernel(c, detKernel[float32](n), detKernel[float64](n)), nil
		},
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := c.Apply1(op.Name{Domain: op.Internal, Name: "DetGrad"}, dout[0], in[0])
			return gorgonia.Nodes{d}, err
		},
		Couple: func(c *op.Call) []coupling.Coupling {
			var list []coupling.Coupling
			for a := range len(c.In[0].Shape) - 2 {
				list = append(list, op.Couple(coupling.In(0, a), coupling.Out(0, a)))
			}
			return list
		},
	}
}

func lastSize(c *op.Call) int {
	s := c.In[len(c.In)-1].Sizes()
	return s[len(s)-1]
}

// determinant eliminates in place, with pivots.
func determinant(p *kernel.Pool, m []float64, n int) float64 {
	d := 1.0
	for k := range n {
		p.Check()
		pivot := k
		for r := k + 1; r < n; r++ {
			if math.Abs(m[r*n+k]) > math.Abs(m[pivot*n+k]) {
				pivot = r
			}
		}
		if m[pivot*n+k] == 0 {
			return 0
		}
		if pivot != k {
			d = -d
			for i := range n {
				m[pivot*n+i], m[k*n+i] = m[k*n+i], m[pivot*n+i]
			}
		}
		d *= m[k*n+k]
		for r := k + 1; r < n; r++ {
			f := m[r*n+k] / m[k*n+k]
			for i := k; i < n; i++ {
				m[r*n+i] -= f * m[k*n+i]
			}
		}
	}
	return d
}

func detKernel[T kernel.Float](n int) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		src, dst := dtype.Slice[T](in[0]), dtype.Slice[T](out[0])
		m := x.Float64(n * n)
		for r := range dst {
			for i := range m {
				m[i] = float64(src[r*n*n+i])
			}
			dst[r] = T(determinant(pool(x), m, n))
		}
		return nil
	}
}

func detGrad() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "DetGrad", Since: []int{1}, Doc: "Gradient of Det: the cofactors.",
		In: "dY T, X T", Out: "dX T", Where: op.Where{"T": op.Floats()},
		Infer: func(c *op.Call) ([]op.Type, error) { return []op.Type{c.In[1]}, nil },
		Kernel: func(c *op.Call) (op.Kernel, error) {
			n := lastSize(c)
			return floatKernel(c, detBack[float32](n), detBack[float64](n)), nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

func detBack[T kernel.Float](n int) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dy, src, dx := dtype.Slice[T](in[0]), dtype.Slice[T](in[1]), dtype.Slice[T](out[0])
		c := newCofactors(x, n)
		for r := range dy {
			for i := range c.m {
				c.m[i] = float64(src[r*n*n+i])
			}
			c.of(pool(x), func(i, j int, cofactor float64) { dx[(r*n+i)*n+j] = dy[r] * T(cofactor) })
		}
		return nil
	}
}
