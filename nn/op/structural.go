package op

import (
	"errors"
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/layout"
	"github.com/graft-ml/graft/internal/kernel/reduce"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// The operators of this file exist only inside lowerings, where shapes are attributes rather
// than inputs. Gradients are written with them.

// shaped is the configuration of internal operators that have a target shape.
type shaped struct {
	Name  string
	Shape []Dim
}

func (c shaped) Operator() Name { return Name{Domain: Internal, Name: c.Name} }

func targetShape(c *Call) ([]Type, error) {
	return []Type{c.In[0].With(c.Config.(shaped).Shape...)}, nil
}

var errNoNode = errors.New("op: the node is nil")

// ReshapeTo gives a node another shape with the same number of elements.
func (c *Call) ReshapeTo(n *gorgonia.Node, shape ...Dim) (*gorgonia.Node, error) {
	if n == nil {
		return nil, errNoNode
	}
	if slices.Equal(Sizes(shape), NodeType(n).Sizes()) { // of strings the node itself has no shape
		return n, nil
	}
	return c.Apply1(shaped{"ReshapeTo", shape}, n)
}

// ExpandTo repeats a node along dimensions of length 1 and along new ones in front, as broadcasting does.
func (c *Call) ExpandTo(n *gorgonia.Node, shape ...Dim) (*gorgonia.Node, error) {
	if n == nil {
		return nil, errNoNode
	}
	if slices.Equal(Sizes(shape), []int(n.Shape())) {
		return n, nil
	}
	return c.Apply1(shaped{"ExpandTo", shape}, n)
}

// SumTo returns the transpose of ExpandTo: it sums over the dimensions that broadcasting to the node's shape expanded.
func (c *Call) SumTo(n *gorgonia.Node, shape ...Dim) (*gorgonia.Node, error) {
	if n == nil {
		return nil, errNoNode
	}
	if slices.Equal(Sizes(shape), []int(n.Shape())) {
		return n, nil
	}
	return c.Apply1(shaped{"SumTo", shape}, n)
}

// Sizes returns the numbers of a shape whose dimensions are all known.
func Sizes(shape []Dim) []int { return Type{Shape: shape}.Sizes() }

// ZerosLike returns zeros of type t with the shape of n.
func (c *Call) ZerosLike(n *gorgonia.Node, t Type) (*gorgonia.Node, error) {
	return c.Apply1(shaped{"ZerosLike", t.Shape}, n)
}

func reshapeTo() *Op {
	return &Op{
		Domain: Internal, Name: "ReshapeTo", Since: []int{1},
		Doc: "Reshape with the target as an attribute.",
		In:  "X T", Out: "Y T", Attrs: shaped{},
		Infer: targetShape, Scheduling: Scheduling{View: true}, Kernel: CopyKernel,
		Strings: func(c *Call, in []dtype.Value) ([]dtype.Value, error) {
			text, ok := in[0].(*dtype.Strings)
			if !ok {
				return nil, c.Mismatch(0, "strings", TypeOf(in[0]))
			}
			y, err := dtype.NewStrings(slices.Clone(text.Elems), c.Out[0].Sizes()...)
			return []dtype.Value{y}, err
		},
		Grad: func(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := c.ReshapeTo(dout[0], c.In[0].Shape...)
			return gorgonia.Nodes{d}, err
		},
		Pinned: "internal",
		Export: func(c *Call) (Config, []dtype.Value) { return exportShape("Reshape", c) },
	}
}

func exportShape(name string, c *Call) (Config, []dtype.Value) {
	v, ok := DimsValue(c.Out[0].Shape, T(dtype.Int64, D(len(c.Out[0].Shape))))
	if !ok {
		return nil, nil
	}
	return Plain(name), []dtype.Value{v}
}

func expandTo() *Op {
	return &Op{
		Domain: Internal, Name: "ExpandTo", Since: []int{1},
		Doc: "Expand with the target as an attribute.",
		In:  "X T", Out: "Y T", Attrs: shaped{},
		Infer: targetShape,
		Kernel: func(c *Call) (Kernel, error) {
			from, to, size := c.In[0].Sizes(), c.Out[0].Sizes(), c.In[0].DType.Size()
			return func(x *Exec, out, in []*tensor.Dense) error {
				layout.ExpandBytes(pool(x), out[0].Raw, in[0].Raw, from, to, size)
				return nil
			}, nil
		},
		Grad: func(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := c.SumTo(dout[0], c.In[0].Shape...)
			return gorgonia.Nodes{d}, err
		},
		Pinned: "internal",
		Export: func(c *Call) (Config, []dtype.Value) { return exportShape("Expand", c) },
	}
}

func sumTo() *Op {
	return &Op{
		Domain: Internal, Name: "SumTo", Since: []int{1}, Decompose: spellSumTo,
		Doc: "Adds up over broadcast dimensions.",
		In:  "X T", Out: "Y T", Attrs: shaped{}, Where: Where{"T": {dtype.Float32, dtype.Float64}},
		Infer: targetShape,
		Kernel: func(c *Call) (Kernel, error) {
			shape, axes := c.In[0].Sizes(), broadcastAxes(c.Out[0].Sizes(), c.In[0].Sizes())
			if c.In[0].DType == dtype.Float64 {
				return reduceSumKernel[float64](shape, axes), nil
			}
			return reduceSumKernel[float32](shape, axes), nil
		},
		Grad: func(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := c.ExpandTo(dout[0], c.In[0].Shape...)
			return gorgonia.Nodes{d}, err
		},
		Pinned: "internal",
	}
}

func reduceSumKernel[T kernel.Float](shape, axes []int) Kernel {
	return func(x *Exec, out, in []*tensor.Dense) error {
		reduce.ReduceAxes(pool(x), reduce.ReduceSum, shape, axes, dtype.Slice[T](out[0]), dtype.Slice[T](in[0]), scratch[T](x))
		return nil
	}
}

// broadcastAxes returns the axes of shape to along which broadcasting from repeats.
func broadcastAxes(from, to []int) []int {
	var axes []int
	lead := len(to) - len(from)
	for i := range to {
		if i < lead || from[i-lead] == 1 && to[i] != 1 {
			axes = append(axes, i)
		}
	}
	return axes
}

func zerosLike() *Op {
	return &Op{
		Domain: Internal, Name: "ZerosLike", Since: []int{1}, Decompose: spellZerosLike,
		Doc: "Zeros in the shape of the input.",
		In:  "X T", Out: "Y T", Attrs: shaped{},
		Infer: targetShape,
		Kernel: func(*Call) (Kernel, error) {
			return func(_ *Exec, out, _ []*tensor.Dense) error {
				clear(out[0].Raw)
				return nil
			}, nil
		},
		NoGrad: "constant", Pinned: "internal",
	}
}

// spellSumTo sums over the axes along which broadcasting repeated.
func spellSumTo(n *Spelling) error {
	axes := n.Fixed("what is broadcast", func(c *Call) []int { return broadcastAxes(c.Out[0].Sizes(), c.In[0].Sizes()) })
	y := n.In[0]
	if len(axes) > 0 {
		y = n.Before("sum", Plain("ReduceSum"), y, n.Vector("axes", axes...))
	}
	n.Give(0, n.Before("shaped", Plain("Reshape"), y, n.OutShape(0)))
	return nil
}

func spellZerosLike(n *Spelling) error {
	zero, err := n.Filled("zero", n.Out[0].Type.DType, 0)
	if err != nil {
		return err
	}
	n.Give(0, n.Before("zeros", Plain("Expand"), zero, n.OutShape(0)))
	return nil
}
