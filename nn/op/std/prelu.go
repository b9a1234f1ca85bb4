package std

import (
	"fmt"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func prelu() *op.Op {
	return &op.Op{
		Name: "PRelu", Since: []int{1, 6, 7, 9, 16}, Versions: preluVersions(), Doc: "x where positive, slope·x elsewhere; the slope broadcasts to x.",
		In: "X T, slope T weight", Out: "Y T", Where: op.Where{"T": op.Numeric()},
		Infer: inferPRelu, Scheduling: op.Scheduling{InPlace: []int{0}}, Kernel: preluKernel, Couple: couplePRelu,
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := c.ApplyN(2, op.Name{Domain: op.Internal, Name: "PReluGrad"}, dout[0], in[0], preluSlope(c, in[1]))
			if err != nil {
				return nil, err
			}
			ds, err := c.SumTo(d[1], slopeShape(c)...)
			if err == nil {
				ds, err = c.ReshapeTo(ds, c.In[1].Shape...)
			}
			return gorgonia.Nodes{d[0], ds}, err
		},
		Traits: op.Traits{Zero: op.ZeroFirst, Range: rangeRectified, Activation: trait.HiddenActivation, Keeps: keepsPositive, Odd: preluOdd, Starts: []trait.Start{trait.StartLike}},
	}
}

// slopeShape returns the slope's shape for broadcasting: before version 7 a vector had one element
// per channel.
func slopeShape(c *op.Call) []op.Dim {
	s := c.In[1].Shape
	if c.Version >= 7 || len(s) != 1 || s[0].Size == 1 || len(c.In[0].Shape) < 3 {
		return s
	}
	s = append([]op.Dim(nil), s...)
	for len(s) < len(c.In[0].Shape)-1 {
		s = append(s, op.D(1))
	}
	return s
}

func preluSlope(c *op.Call, n *gorgonia.Node) *gorgonia.Node {
	if r, err := c.ReshapeTo(n, slopeShape(c)...); err == nil {
		return r
	}
	return n
}

func inferPRelu(c *op.Call) ([]op.Type, error) {
	if c.In[0].Unranked || c.In[1].Unranked {
		return []op.Type{c.In[0]}, nil
	}
	shape, err := c.Broadcast(c.In[0].Shape, slopeShape(c))
	if err != nil {
		return nil, err
	}
	if len(shape) != len(c.In[0].Shape) {
		return nil, c.Mismatch(1, "a slope that broadcasts to "+c.In[0].String(), c.In[1])
	}
	for a, d := range shape {
		if d.Differ(c.In[0].Shape[a]) {
			return nil, c.Mismatch(1, "a slope that broadcasts to "+c.In[0].String(), c.In[1])
		}
	}
	return []op.Type{c.In[0]}, nil
}

func couplePRelu(c *op.Call) []coupling.Coupling {
	list := op.CoupleAll(c, 0)
	s, x := slopeShape(c), c.In[0].Shape
	for a := range c.In[1].Shape {
		if o := a + len(x) - len(s); !s[a].Differ(x[o]) {
			list = append(list, op.Couple(coupling.In(1, a), coupling.Out(0, o)))
		}
	}
	return list
}

func preluKernel(c *op.Call) (op.Kernel, error) {
	w, err := newWalk(c, c.In[0].Sizes(), c.In[0].Sizes(), op.Sizes(slopeShape(c)))
	if err != nil {
		return nil, err
	}
	t := c.In[0].DType
	if t.IsFloat() {
		return perPrecision(t, pairKernel(w, 1, preluPair[float32]()), pairKernel(w, 1, preluPair[float64]())), nil
	}
	return binary{
		i: func(x, s int64) int64 { return max(x, 0) + s*min(x, 0) },
		u: func(x, _ uint64) uint64 { return x },
	}.integerKernel(c, t, w)
}

func preluPair[T kernel.Float]() pair[T, T] {
	p := pairOf(func(x, s T) T {
		if x < 0 {
			return s * x
		}
		return x
	})
	p.vs = func(dst, x []T, s T) { elementwise.LeakyRelu(nil, s, dst, x) }
	return p
}

func preluGrad() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "PReluGrad", Since: []int{1}, Decompose: spelled(spellPReluGrad), Doc: "Gradient of PRelu, that of the slope before summing.",
		In: "dY T, X T, slope T", Out: "dX T, dS T", Where: op.Where{"T": op.Floats()},
		Infer:       func(c *op.Call) ([]op.Type, error) { return []op.Type{c.In[0], c.In[0]}, nil },
		GradMissing: op.NotTwice, Pinned: "gradient",
		Kernel: func(c *op.Call) (op.Kernel, error) {
			w, err := newWalk(c, c.In[0].Sizes(), c.In[0].Sizes(), c.In[2].Sizes())
			if err != nil {
				return nil, err
			}
			return floatKernel(c, preluGradKernel[float32](w), preluGradKernel[float64](w)), nil
		},
	}
}

func preluGradKernel[T kernel.Float](w *walk) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dy, v, s := dtype.Slice[T](in[0]), dtype.Slice[T](in[1]), dtype.Slice[T](in[2])
		dx, ds := dtype.Elems[T](out[0]), dtype.Elems[T](out[1])
		if len(dy) == 0 {
			return nil
		}
		w.each(pool(x), 2, func(at, n int, off [3]int) {
			g, v := dy[at:at+n], v[at:at+n]
			if ds != nil {
				elementwise.BinaryScalar(nil, elementwise.OpMin, ds[at:at+n], v, 0)
				elementwise.Mul(nil, ds[at:at+n], ds[at:at+n], g)
			}
			switch {
			case dx == nil:
			case !w.moves[1]:
				elementwise.LeakyReluGrad(nil, s[off[1]], dx[at:at+n], g, v)
			default:
				slope := s[off[1] : off[1]+n]
				for i, d := range g {
					if !(v[i] > 0) { // the slope counts where x is NaN, too
						d *= slope[i]
					}
					dx[at+i] = d
				}
			}
		})
		return nil
	}
}

// preluOdd: φ(x) − φ(−x) is (1 + slope)·x, if there is a single slope.
func preluOdd(c *op.Call) (gain, scale float64, ok bool) {
	slope, ok := c.Uniform(1)
	return 1 + slope, 1, ok
}

// preluVersions: before version 7 several slopes stood for channels.
func preluVersions() []op.Version {
	one := func(n *op.Spelling) error {
		s, err := n.Sizes(1)
		if err != nil {
			return err
		}
		if count, err := dtype.Count(s); err != nil || count != 1 {
			return fmt.Errorf("slopes of shape %v mean something else in that version", s)
		}
		return nil
	}
	return []op.Version{{At: 7, Up: one, Down: one}, {At: 9, New: op.Where{"T": op.Integers()}}}
}
