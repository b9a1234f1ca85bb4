package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LRNConfig has the attributes of LRN. Alpha is 1e-4, Beta 0.75 and Bias 1 when nil.
type LRNConfig struct {
	Alpha *float32 `onnx:"alpha,nil=1e-04"` // factor of the sum of squares; 1e-4 when nil
	Beta  *float32 `onnx:"beta,nil=0.75"`   // exponent; 0.75 when nil
	Bias  *float32 `onnx:"bias,nil=1"`      // 1 when nil
	Size  int      `onnx:"size,required"`   // number of neighboring channels that are summed, 1 or more
}

// Operator makes LRNConfig a Config.
func (LRNConfig) Operator() op.Name { return op.Name{Name: "LRN"} }

func lrn() *op.Op {
	return &op.Op{
		Name: "LRN", Since: []int{1, 13}, Expose: spelled(exposeLRN),
		Doc: "Divides by a power of the sum of squares over neighbouring channels.",
		In:  "X T", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: LRNConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			if rank, err := c.Rank(0); err != nil || rank < 2 {
				return nil, c.Mismatch(0, "batch and channels", c.In[0])
			}
			if s := c.Config.(LRNConfig).Size; s < 1 {
				return nil, c.Errorf("size is %d, want 1 or more", s)
			}
			return op.Same(c)
		},
		// The hidden output is the base of the power.
		Hidden: func(c *op.Call) []op.Type { return []op.Type{c.In[0].Of(computed(c.In[0].DType))} },
		Kernel: func(c *op.Call) (op.Kernel, error) {
			l := lrnOf(c)
			return mixedPrecision(c, lrnKernel[float32](l), lrnKernel[float64](l)), nil
		},
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := c.Apply1(lrnOf(c), dout[0], in[0], out[1])
			return gorgonia.Nodes{d}, err
		},
		Couple: func(c *op.Call) []coupling.Coupling { return normOver(c, func(a int) bool { return a == 1 }) },
		Traits: op.Traits{Zero: op.ZeroFirst, Layout: trait.ChannelsFirst, Removable: true},
	}
}

// lrnShape is the configuration of LRNGrad, and the geometry of LRN: channel c looks at the
// channels from c−Before to c+After.
type lrnShape struct {
	N, C, Space   int
	Before, After int
	Alpha         float64 // divided by the size
	Beta, Bias    float64
}

func (lrnShape) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "LRNGrad"} }

func lrnOf(c *op.Call) lrnShape {
	cfg := c.Config.(LRNConfig)
	l := lrnShape{Alpha: orFloat(cfg.Alpha, 1e-4) / float64(cfg.Size), Beta: orFloat(cfg.Beta, 0.75), Bias: orFloat(cfg.Bias, 1)}
	l.N, l.C, l.Space = channels(c.In[0])
	l.Before = min((cfg.Size-1)/2, l.C)
	l.After = min(cfg.Size/2, l.C)
	return l
}

// planes runs f for each channel of each image, block by block of n elements: the first of them, and the first of the same block in
// the first of the channels that count, which end at to.
func (l lrnShape) planes(p *kernel.Pool, before, after int, f func(n, at, from, to int)) {
	blocks := (l.Space + blockSize - 1) / blockSize
	p.Run(l.N*l.C*blocks, func(_, i int) {
		i, block := i/blocks, i%blocks*blockSize
		c := i % l.C
		first := (i - c) * l.Space
		f(min(blockSize, l.Space-block), i*l.Space+block, first+max(c-before, 0)*l.Space+block, first+(min(c+after, l.C-1)+1)*l.Space)
	})
}

func lrnKernel[T kernel.Float](l lrnShape) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		a, y, keep := dtype.Elems[T](in[0]), dtype.Elems[T](out[0]), dtype.ElemsAt[T](out, 1)
		l.planes(pool(x), l.Before, l.After, func(n, at, from, to int) {
			for i := range n {
				sum := 0.0
				for k := from + i; k < to; k += l.Space {
					sum += float64(a[k]) * float64(a[k])
				}
				s := l.Bias + l.Alpha*sum
				if keep != nil {
					keep[at+i] = T(s)
				}
				if y != nil {
					y[at+i] = T(float64(a[at+i]) * math.Pow(s, -l.Beta))
				}
			}
		})
		return nil
	}
}

func lrnGrad() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "LRNGrad", Since: []int{1}, Decompose: spelled(spellLRNGrad), Doc: "Gradient of LRN.",
		In: "dY T, X T, s U", Out: "dX T", Where: op.Where{"T": op.Floats()}, Attrs: lrnShape{},
		Infer: op.Same, GradMissing: op.NotTwice, Pinned: "gradient",
		Kernel: func(c *op.Call) (op.Kernel, error) {
			l := c.Config.(lrnShape)
			return mixedPrecision(c, lrnBack[float32](l), lrnBack[float64](l)), nil
		},
	}
}

// lrnBack: dx = dy·s^−β − 2αβ·x·Σ dy·x·s^(−β−1), over the channels that look at this one.
func lrnBack[T kernel.Float](l lrnShape) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dy, a, s, dx := dtype.Elems[T](in[0]), dtype.Elems[T](in[1]), dtype.Elems[T](in[2]), dtype.Elems[T](out[0])
		power := scratch[T](x)(len(s))
		elementwise.Map(pool(x), power, s, func(v T) T { return T(math.Pow(float64(v), -l.Beta)) })
		l.planes(pool(x), l.After, l.Before, func(n, at, from, to int) {
			for i := range n {
				sum := T(0)
				for k := from + i; k < to; k += l.Space {
					sum += dy[k] * a[k] * power[k] / s[k]
				}
				dx[at+i] = dy[at+i]*power[at+i] - T(2*l.Alpha*l.Beta)*a[at+i]*sum
			}
		})
		return nil
	}
}
