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

// LpNormalizationConfig has the attributes of LpNormalization. Axis is -1 when nil; P is 1 or 2.
type LpNormalizationConfig struct {
	Axis *int `onnx:"axis,nil=-1"` // from −rank to rank−1; −1 when nil
	P    int  `onnx:"p,default=2"` // of the norm: 1 or 2
}

// Operator makes LpNormalizationConfig a Config.
func (LpNormalizationConfig) Operator() op.Name { return op.Name{Name: "LpNormalization"} }

func lpNormalization() *op.Op {
	return &op.Op{
		Name: "LpNormalization", Since: []int{1, 22},
		Doc: "Divides by the L1 or L2 norm along an axis; what has norm 0 stays 0.",
		In:  "input T", Out: "output T", Where: op.Where{"T": op.Floats()}, Attrs: LpNormalizationConfig{}, Scheduling: op.Scheduling{InPlace: []int{0}},
		Check: func(c *op.Call) error {
			if p := c.Config.(LpNormalizationConfig).P; p != 1 && p != 2 {
				return c.Errorf("p is %d, want 1 or 2", p)
			}
			return nil
		},
		Infer: func(c *op.Call) ([]op.Type, error) {
			if _, err := lpAxis(c); err != nil && !c.In[0].Unranked {
				return nil, err
			}
			return op.Same(c)
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			l, err := lpNormOf(c)
			return floatKernel(c, lpNormed[float32](l), lpNormed[float64](l)), err
		},
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			l, err := lpNormOf(c)
			if err != nil {
				return nil, err
			}
			d, err := c.Apply1(l, dout[0], in[0])
			return gorgonia.Nodes{d}, err
		},
		Couple: func(c *op.Call) []coupling.Coupling {
			axis, err := lpAxis(c)
			if err != nil {
				return nil
			}
			return normOver(c, func(a int) bool { return a == axis })
		},
		Traits: op.Traits{Zero: op.ZeroFirst},
	}
}

func lpAxis(c *op.Call) (int, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return 0, err
	}
	return c.Axis(orInt(c.Config.(LpNormalizationConfig).Axis, -1), rank)
}

// lpNorm is the configuration of LpNormalizationGrad, and the geometry of LpNormalization.
type lpNorm struct {
	Along along
	P     int
}

func (lpNorm) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "LpNormalizationGrad"} }

func lpNormOf(c *op.Call) (lpNorm, error) {
	axis, err := lpAxis(c)
	if err != nil {
		return lpNorm{}, err
	}
	s := c.In[0].Sizes()
	return lpNorm{along{dtype.Product(s[:axis]), s[axis], dtype.Product(s[axis+1:])}, c.Config.(LpNormalizationConfig).P}, nil
}

// fibers runs f for the first element and the step of each fiber along the axis.
func (a along) fibers(p *kernel.Pool, f func(at, step int)) {
	p.Range(a.Outer*a.Inner, 1+4096/max(a.Axis, 1), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			f(r/a.Inner*a.Axis*a.Inner+r%a.Inner, a.Inner)
		}
	})
}

// size returns the norm of the fiber at x[at], x[at+step] ….
func (l lpNorm) size(p *kernel.Pool, at func(k int) float64) float64 {
	sum := 0.0
	for k := range l.Along.Axis {
		checkAt(p, k)
		if v := at(k); l.P == 1 {
			sum += math.Abs(v)
		} else {
			sum += v * v
		}
	}
	if l.P == 1 {
		return sum
	}
	return math.Sqrt(sum)
}

func lpNormed[T kernel.Float](l lpNorm) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		a, y := dtype.Elems[T](in[0]), dtype.Elems[T](out[0])
		l.Along.fibers(pool(x), func(at, step int) {
			n := l.size(pool(x), func(k int) float64 { return float64(a[at+k*step]) })
			for k := range l.Along.Axis {
				checkAt(pool(x), k)
				if i := at + k*step; n == 0 {
					y[i] = 0
				} else {
					y[i] = T(float64(a[i]) / n)
				}
			}
		})
		return nil
	}
}

func lpNormalizationGrad() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "LpNormalizationGrad", Since: []int{1}, Decompose: spelled(spellLpNormGrad), Doc: "Gradient of LpNormalization.",
		In: "dY T, X T", Out: "dX T", Where: op.Where{"T": op.Floats()}, Attrs: lpNorm{},
		Infer: op.Same, GradMissing: op.NotTwice, Pinned: "gradient",
		Kernel: func(c *op.Call) (op.Kernel, error) {
			l := c.Config.(lpNorm)
			return floatKernel(c, lpNormBack[float32](l), lpNormBack[float64](l)), nil
		},
	}
}

// lpNormBack: dx = (dy − u·Σ dy·y)/norm, where u is y for L2 and the sign of x for L1.
func lpNormBack[T kernel.Float](l lpNorm) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dy, a, dx := dtype.Elems[T](in[0]), dtype.Elems[T](in[1]), dtype.Elems[T](out[0])
		l.Along.fibers(pool(x), func(at, step int) {
			n := l.size(pool(x), func(k int) float64 { return float64(a[at+k*step]) })
			dot := 0.0
			for k := range l.Along.Axis {
				checkAt(pool(x), k)
				dot += float64(dy[at+k*step]) * float64(a[at+k*step])
			}
			for k := range l.Along.Axis {
				checkAt(pool(x), k)
				i := at + k*step
				u := float64(a[i]) / n
				if l.P == 1 {
					u = sign(float64(a[i]))
				}
				if dx[i] = T((float64(dy[i]) - u*dot/n) / n); n == 0 {
					dx[i] = 0
				}
			}
		})
		return nil
	}
}
