package std

import (
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/layout"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// MeanVarianceNormalizationConfig has the attributes of MeanVarianceNormalization.
type MeanVarianceNormalizationConfig struct {
	Axes []int `onnx:"axes,default=0|2|3"` // the axes that mean and variance are taken over
}

// Operator makes MeanVarianceNormalizationConfig a Config.
func (MeanVarianceNormalizationConfig) Operator() op.Name {
	return op.Name{Name: "MeanVarianceNormalization"}
}

// mvnEpsilon is added to the standard deviation, as specified.
const mvnEpsilon = 1e-9

func meanVarianceNormalization() *op.Op {
	return &op.Op{
		Name: "MeanVarianceNormalization", Since: []int{9, 13}, Decompose: decomposeMeanVariance,
		Doc: "Brings mean and standard deviation over axes to 0 and 1.",
		In:  "X T", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: MeanVarianceNormalizationConfig{}, Scheduling: op.Scheduling{InPlace: []int{0}},
		Infer: func(c *op.Call) ([]op.Type, error) {
			if _, err := mvnAxes(c); err != nil && !c.In[0].Unranked {
				return nil, err
			}
			return op.Same(c)
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			m, err := mvnOf(c)
			return floatKernel(c, mvnKernel(m, mvnRow[float32]), mvnKernel(m, mvnRow[float64])), err
		},
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			m, err := mvnOf(c)
			if err != nil {
				return nil, err
			}
			d, err := c.Apply1(m, in[0], dout[0])
			return gorgonia.Nodes{d}, err
		},
		Couple: func(c *op.Call) []coupling.Coupling {
			axes, err := mvnAxes(c)
			if err != nil {
				return nil
			}
			return normOver(c, func(a int) bool { return slices.Contains(axes, a) })
		},
	}
}

func mvnAxes(c *op.Call) ([]int, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return nil, err
	}
	return c.Axes(c.Config.(MeanVarianceNormalizationConfig).Axes, rank)
}

// mvn is the configuration of MeanVarianceNormalizationGrad, and the geometry of the operator:
// Perm moves the axes that are normalized over to the back.
type mvn struct {
	Shape, Perm []int
	Rows, Cols  int
}

func (mvn) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "MeanVarianceNormalizationGrad"}
}

func mvnOf(c *op.Call) (mvn, error) {
	axes, err := mvnAxes(c)
	m := mvn{Shape: c.In[0].Sizes(), Rows: 1, Cols: 1}
	for a, n := range m.Shape {
		if !slices.Contains(axes, a) {
			m.Perm = append(m.Perm, a)
			m.Rows *= n
		} else {
			m.Cols *= n
		}
	}
	m.Perm = append(m.Perm, axes...)
	return m, err
}

// mvnKernel runs row on rows of the inputs, which it may overwrite except for the first.
func mvnKernel[T kernel.Float](m mvn, row func(p *kernel.Pool, dst []T, src [2][]T)) op.Kernel {
	back := make([]int, len(m.Perm))
	moved := make([]int, len(m.Perm))
	for i, p := range m.Perm {
		back[p], moved[i] = i, m.Shape[p]
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		var src [2][]T
		for i := range min(len(in), 2) {
			if in[i] != nil {
				src[i] = scratch[T](x)(m.Rows * m.Cols)
				layout.Transpose(pool(x), src[i], dtype.Elems[T](in[i]), m.Shape, m.Perm)
			}
		}
		dst := scratch[T](x)(m.Rows * m.Cols)
		pool(x).Range(m.Rows, 1+4096/max(m.Cols, 1), func(lo, hi int) {
			for r := lo; r < hi; r++ {
				var part [2][]T
				for i, s := range src {
					if s != nil {
						part[i] = s[r*m.Cols : (r+1)*m.Cols]
					}
				}
				row(pool(x), dst[r*m.Cols:(r+1)*m.Cols], part)
			}
		})
		layout.Transpose(pool(x), dtype.Elems[T](out[0]), dst, moved, back)
		return nil
	}
}

func meanDeviation[T kernel.Float](p *kernel.Pool, x []T) (mean, dev float64) {
	p.InParts(len(x), func(lo, hi int) {
		for _, v := range x[lo:hi] {
			mean += float64(v)
		}
	})
	mean /= float64(len(x))
	p.InParts(len(x), func(lo, hi int) {
		for _, v := range x[lo:hi] {
			dev += (float64(v) - mean) * (float64(v) - mean)
		}
	})
	return mean, math.Sqrt(dev / float64(len(x)))
}

func mvnRow[T kernel.Float](p *kernel.Pool, y []T, src [2][]T) {
	x := src[0]
	mean, dev := meanDeviation(p, x)
	p.InParts(len(x), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			y[i] = T((float64(x[i]) - mean) / (dev + mvnEpsilon))
		}
	})
}

// mvnBack: with d = dev + ε, dx = (dy − mean(dy))/d − (x − mean)·Σ dy·(x − mean)/(n·dev·d²).
func mvnBack[T kernel.Float](p *kernel.Pool, dx []T, src [2][]T) {
	x, dy := src[0], src[1]
	mean, dev := meanDeviation(p, x)
	n, d := float64(len(x)), dev+mvnEpsilon
	sum, dot := 0.0, 0.0
	p.InParts(len(x), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			sum += float64(dy[i])
			dot += float64(dy[i]) * (float64(x[i]) - mean)
		}
	})
	k := 0.0
	if dev > 0 {
		k = dot / (n * dev * d * d)
	}
	p.InParts(len(x), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			dx[i] = T((float64(dy[i])-sum/n)/d - (float64(x[i])-mean)*k)
		}
	})
}

func meanVarianceNormalizationGrad() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "MeanVarianceNormalizationGrad", Since: []int{1}, Decompose: spelled(spellMVNGrad), Doc: "Gradient of MeanVarianceNormalization.",
		In: "X T, dY T", Out: "dX T", Where: op.Where{"T": op.Floats()}, Attrs: mvn{},
		Infer: op.Same, GradMissing: op.NotTwice, Pinned: "gradient",
		Kernel: func(c *op.Call) (op.Kernel, error) {
			m := c.Config.(mvn)
			return floatKernel(c, mvnKernel(m, mvnBack[float32]), mvnKernel(m, mvnBack[float64])), nil
		},
	}
}

// decomposeMeanVariance adds 1e-9 to the deviation, as ONNX's function does.
func decomposeMeanVariance(n *op.Spelling) error {
	axes := n.Vector("axes", n.Config.(MeanVarianceNormalizationConfig).Axes...)
	tiny, err := n.Filled("tiny", n.DType(0), 1e-9)
	if err != nil {
		return err
	}
	centered := n.Before("centered", op.Plain("Sub"), n.In[0], n.Before("mean", ReduceMeanConfig{}, n.In[0], axes))
	variance := n.Before("variance", ReduceMeanConfig{}, n.Before("squared", op.Plain("Mul"), centered, centered), axes)
	deviation := n.Before("shifted", op.Plain("Add"), n.Before("deviation", op.Plain("Sqrt"), variance), tiny)
	n.Give(0, n.Before("", op.Plain("Div"), centered, deviation))
	return nil
}
