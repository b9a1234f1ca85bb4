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

// lpColumns is the number of neighboring fibers that are computed together.
const lpColumns = 1024

// columns runs f for blocks of n neighboring fibers: row k of a block is [k*a.Inner+at, +n). sums has two numbers for each fiber, all 0.
func (a along) columns(p *kernel.Pool, f func(pace *kernel.Pace, at, n int, sums []float64)) {
	blocks := kernel.CeilDiv(a.Inner, lpColumns)
	p.Range(a.Outer*blocks, 1+4096/max(a.Axis*min(a.Inner, lpColumns), 1), func(lo, hi int) {
		buffer := kernel.Borrow[float64](2 * min(a.Inner, lpColumns))
		defer kernel.GiveBack(buffer)
		pace := p.Pace()
		for i := lo; i < hi; i++ {
			first := i % blocks * lpColumns
			n := min(a.Inner-first, lpColumns)
			sums := (*buffer)[:2*n]
			clear(sums)
			f(&pace, i/blocks*a.Axis*a.Inner+first, n, sums)
		}
	})
}

// lpNorms sets the norm of each fiber of a block of x.
func lpNorms[T kernel.Float](l lpNorm, pace *kernel.Pace, x []T, at int, norms []float64) {
	for k := range l.Along.Axis {
		pace.Did(len(norms))
		for j, v := range x[at+k*l.Along.Inner:][:len(norms)] {
			if v := float64(v); l.P == 1 {
				norms[j] += math.Abs(v)
			} else {
				norms[j] += v * v
			}
		}
	}
	if l.P == 2 {
		for j, v := range norms {
			norms[j] = math.Sqrt(v)
		}
	}
}

func lpNormed[T kernel.Float](l lpNorm) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		a, y := dtype.Elems[T](in[0]), dtype.Elems[T](out[0])
		l.Along.columns(pool(x), func(pace *kernel.Pace, at, n int, sums []float64) {
			norms := sums[:n]
			lpNorms(l, pace, a, at, norms)
			for k := range l.Along.Axis {
				pace.Did(n)
				row := y[at+k*l.Along.Inner:][:n]
				for j, v := range a[at+k*l.Along.Inner:][:n] {
					if norms[j] == 0 {
						row[j] = 0
					} else {
						row[j] = T(float64(v) / norms[j])
					}
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
		l.Along.columns(pool(x), func(pace *kernel.Pace, at, n int, sums []float64) {
			norms, dots := sums[:n], sums[n:]
			lpNorms(l, pace, a, at, norms)
			for k := range l.Along.Axis {
				pace.Did(n)
				d := dy[at+k*l.Along.Inner:][:n]
				for j, v := range a[at+k*l.Along.Inner:][:n] {
					dots[j] += float64(d[j]) * float64(v)
				}
			}
			for k := range l.Along.Axis {
				pace.Did(n)
				row, d := dx[at+k*l.Along.Inner:][:n], dy[at+k*l.Along.Inner:][:n]
				for j, v := range a[at+k*l.Along.Inner:][:n] {
					u := float64(v) / norms[j]
					if l.P == 1 {
						u = sign(float64(v))
					}
					if row[j] = T((float64(d[j]) - u*dots[j]/norms[j]) / norms[j]); norms[j] == 0 {
						row[j] = 0
					}
				}
			}
		})
		return nil
	}
}
