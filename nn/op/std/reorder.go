package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ReorderConfig has the attributes of Reorder, an operator of lowerings only: it concatenates the ranges [From[i],
// From[i]+Size[i]) of Axis. Ranges do not overlap.
type ReorderConfig struct {
	Axis       int
	From, Size []int
}

// Operator makes ReorderConfig a Config.
func (ReorderConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "Reorder"} }

func reorder() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "Reorder", Since: []int{1}, Doc: "Puts segments of an axis into another order, as exporters do with the gates of recurrent weights.",
		In: "X T", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: ReorderConfig{}, Pinned: "exists in lowerings only",
		Infer: inferReorder,
		Kernel: func(c *op.Call) (op.Kernel, error) {
			segments := c.Config.(ReorderConfig).segments(c.In[0])
			return func(_ *op.Exec, out, in []*tensor.Dense) error {
				dst, src := dtype.Bytes(out[0]), dtype.Bytes(in[0])
				segments(func(at, from, n int) { copy(dst[at:at+n], src[from:]) })
				return nil
			}, nil
		},
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := c.Apply1(reorderGradConfig{c.Config.(ReorderConfig), c.In[0].Shape}, dout[0])
			return gorgonia.Nodes{d}, err
		},
	}
}

func inferReorder(c *op.Call) ([]op.Type, error) {
	cfg := c.Config.(ReorderConfig)
	if cfg.Axis < 0 || cfg.Axis >= c.In[0].Rank() || len(cfg.From) != len(cfg.Size) {
		return nil, c.Errorf("cannot reorder %v", c.In[0])
	}
	shape, n := append([]op.Dim(nil), c.In[0].Shape...), 0
	for i, from := range cfg.From {
		to := from + cfg.Size[i]
		if from < 0 || to < from || shape[cfg.Axis].Known() && to > shape[cfg.Axis].Size {
			return nil, c.Errorf("indices %d to %d are outside of axis %d of %v", from, to, cfg.Axis, c.In[0])
		}
		for k, other := range cfg.From[:i] {
			if from < other+cfg.Size[k] && other < to {
				return nil, c.Errorf("takes indices from %d and from %d on, which overlap", other, from)
			}
		}
		n += cfg.Size[i]
	}
	shape[cfg.Axis] = op.D(n)
	return []op.Type{c.In[0].With(shape...)}, nil
}

// segments iterates over the segments: their offsets in the result and in the whole tensor, and their
// sizes, in bytes.
func (cfg ReorderConfig) segments(whole op.Type) func(f func(at, from, n int)) {
	shape := whole.Sizes()
	outer, length, width := dtype.Product(shape[:cfg.Axis]), shape[cfg.Axis], dtype.Product(shape[cfg.Axis+1:])*whole.DType.Size()
	return func(f func(at, from, n int)) {
		at := 0
		for o := range outer {
			for i, from := range cfg.From {
				n := cfg.Size[i] * width
				f(at, (o*length+from)*width, n)
				at += n
			}
		}
	}
}

// reorderGradConfig is the configuration of ReorderGrad.
type reorderGradConfig struct {
	Of    ReorderConfig
	Shape []op.Dim // shape of the reordered tensor
}

func (reorderGradConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "ReorderGrad"} }

func reorderGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "ReorderGrad", Since: []int{1}, Doc: "Puts segments back to where Reorder took them.",
		In: "dY T", Out: "dX T", Where: op.Where{"T": op.Floats()}, Attrs: reorderGradConfig{}, GradMissing: op.NotTwice, Pinned: "gradient",
		Infer: func(c *op.Call) ([]op.Type, error) {
			return []op.Type{c.In[0].With(c.Config.(reorderGradConfig).Shape...)}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			segments := c.Config.(reorderGradConfig).Of.segments(c.Out[0])
			complete := c.In[0].Elements() == c.Out[0].Elements()
			return func(_ *op.Exec, out, in []*tensor.Dense) error {
				dst, src := dtype.Bytes(out[0]), dtype.Bytes(in[0])
				if !complete {
					clear(dst)
				}
				segments(func(at, from, n int) { copy(dst[from:from+n], src[at:]) })
				return nil
			}, nil
		},
	}
}

// sliceRange returns the axis and the indices that a resolved Slice selects, if it selects a range of one
// axis without steps; all of input 0 is the range of axis -1.
func sliceRange(c *op.Call) (axis, from, size int, ok bool) {
	if _, is := c.Config.(SliceConfig); !is {
		return 0, 0, 0, false
	}
	list, err := cuts(c)
	if err != nil {
		return 0, 0, 0, false
	}
	axis = -1
	for a, x := range list {
		whole := x.start.Size == 0 && x.count.Size == c.In[0].Shape[a].Size
		if x.step != 1 || axis >= 0 && !whole {
			return 0, 0, 0, false
		}
		if !whole {
			axis, from, size = a, x.start.Size, x.count.Size
		}
	}
	return axis, from, size, true
}
