package std

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// SplitConfig has the attributes of Split. Before version 13 the sizes are an attribute, later
// the second input.
type SplitConfig struct {
	Axis       int   `onnx:"axis,default=0"`       // from −rank to rank−1
	Split      []int `onnx:"split,until=12"`       // lengths of the outputs; nil: equal lengths
	NumOutputs int   `onnx:"num_outputs,since=18"` // number of outputs of equal length, but for a shorter last one
}

// Operator makes SplitConfig a Config.
func (SplitConfig) Operator() op.Name { return op.Name{Name: "Split"} }

func split() *op.Op {
	return &op.Op{
		Name: "Split", Since: []int{1, 2, 11, 13, 18}, Versions: splitVersions(),
		Doc: "Cuts a tensor into parts along an axis.",
		In:  "input T, split? int64 shape", Out: "outputs* T",
		Attrs: SplitConfig{},
		Infer: inferSplit, Kernel: splitKernel, Strings: moveStrings, Grad: splitGrad, Couple: coupleSplit,
		Traits: resizing(moved(trait.Moved), 0, resizeSplit),
	}
}

// splitSizes returns the lengths of the parts along the axis.
func splitSizes(c *op.Call) (axis int, sizes []op.Dim, err error) {
	cfg := c.Config.(SplitConfig)
	rank, err := c.Rank(0)
	if err != nil {
		return 0, nil, err
	}
	if axis, err = c.Axis(cfg.Axis, rank); err != nil {
		return 0, nil, err
	}
	length := c.In[0].Shape[axis]
	switch {
	case c.Has(1):
		sizes, err = c.Dims(1)
	case cfg.Split != nil:
		sizes = op.Dims(cfg.Split...)
	default:
		sizes, err = evenSplit(c, length, cfg.NumOutputs)
	}
	if err != nil {
		return 0, nil, err
	}
	if len(sizes) != c.Outputs {
		return 0, nil, c.Errorf("has %d sizes for %d outputs", len(sizes), c.Outputs)
	}
	sum, told := op.D(0), !c.Has(1) && cfg.Split != nil || c.Has(1) && c.Known[1].Value != nil
	for _, s := range sizes {
		if told && s.Size < 0 {
			return 0, nil, c.Errorf("size %d is negative", s.Size)
		}
		sum = sum.Add(s)
	}
	if sum.Differ(length) {
		return 0, nil, c.Errorf("sizes add up to %v, the axis has %v", sum, length)
	}
	return axis, sizes, nil
}

// evenSplit returns parts of equal length; from version 18 on the last one may be shorter.
func evenSplit(c *op.Call, length op.Dim, n int) ([]op.Dim, error) {
	if n == 0 {
		n = c.Outputs
	}
	if n != c.Outputs {
		return nil, c.Errorf("num_outputs is %d, the node has %d outputs", n, c.Outputs)
	}
	each := length.Add(op.D(n - 1)).Div(op.D(n))
	if c.Version < 18 {
		if length.Known() && length.Size%n != 0 {
			return nil, c.Errorf("cannot cut a length of %v into %d equal parts", length, n)
		}
		each = length.Div(op.D(n))
	}
	sizes := make([]op.Dim, n)
	for i := range sizes {
		sizes[i] = each
	}
	if length.Known() && length.Size%n != 0 || length.Symbolic() && c.Version >= 18 {
		sizes[n-1] = length.Sub(each.Mul(op.D(n - 1)))
		if length.Known() && sizes[n-1].Size < 0 {
			return nil, c.Errorf("cannot cut a length of %v into %d parts", length, n)
		}
	}
	return sizes, nil
}

func inferSplit(c *op.Call) ([]op.Type, error) {
	axis, sizes, err := splitSizes(c)
	if err != nil {
		return nil, err
	}
	out, pace := make([]op.Type, len(sizes)), poolOf(c).Pace()
	for i, s := range sizes {
		pace.Did(64)
		shape := append([]op.Dim(nil), c.In[0].Shape...)
		shape[axis] = s
		out[i] = c.In[0].With(shape...)
	}
	return out, nil
}

// splitKernel copies blocks of bytes, whatever the element type.
func splitKernel(c *op.Call) (op.Kernel, error) {
	axis, sizes, err := splitSizes(c)
	if err != nil {
		return nil, err
	}
	outer, inner := around(c.In[0].Sizes(), axis)
	inner *= c.In[0].DType.Size()
	parts := make([]int, len(sizes))
	for i, n := range sizes {
		parts[i] = n.Size * inner
	}
	whole := newInterleaved(outer, parts)
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		whole.each(pool(x), func(part, at, from, n int) {
			if out[part] != nil {
				copy(out[part].Raw[at:at+n], in[0].Raw[from:])
			}
		})
		return nil
	}, nil
}

// around returns the number of elements before and after an axis.
func around(shape []int, axis int) (outer, inner int) {
	outer, inner = 1, 1
	for i, n := range shape {
		if i < axis {
			outer *= n
		} else if i > axis {
			inner *= n
		}
	}
	return outer, inner
}

// splitGrad concatenates the gradients of the parts; those of unused parts are zeros.
func splitGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	axis, _, err := splitSizes(c)
	if err != nil {
		return nil, err
	}
	parts, zeros := make(gorgonia.Nodes, len(dout)), map[int]*gorgonia.Node{} // by size
	for i, d := range dout {
		if d == nil {
			size := c.Out[i].Shape[axis].Size
			if d = zeros[size]; d == nil {
				if d, err = c.ZerosLike(in[0], c.Out[i]); err != nil {
					return nil, err
				}
				zeros[size] = d
			}
		}
		parts[i] = d
	}
	dx, err := c.Apply1(ConcatConfig{Axis: axis}, parts...)
	return gorgonia.Nodes{dx}, err
}

func coupleSplit(c *op.Call) []coupling.Coupling {
	axis, sizes, err := splitSizes(c)
	if err != nil {
		return nil
	}
	var list []coupling.Coupling
	at := 0
	for i, s := range sizes {
		for a := range c.In[0].Shape {
			k := op.Couple(coupling.In(0, a), coupling.Out(i, a))
			if a == axis {
				k.Map = coupling.Map{Relation: coupling.Offset, Shift: -at, Count: s.Size}
			}
			list = append(list, k)
		}
		at += s.Size
	}
	return list
}

// resizeSplit sets the sizes of the parts.
func resizeSplit(r *op.Resizing) error {
	c := r.Call
	cfg := c.Config.(SplitConfig)
	axis, err := c.Axis(cfg.Axis, len(c.In[0].Shape))
	if err != nil {
		return err
	}
	var sizes []int
	changed := false
	for _, out := range r.Out {
		if out.New == nil {
			return nil
		}
		changed = changed || out.KeptOn(axis) != nil
		sizes = append(sizes, out.New[axis])
	}
	switch {
	case !changed:
	case c.Has(1):
		r.Put(1, sizes)
	case c.Version < 13:
		cfg.Split = sizes
		r.Config = cfg
	case slices.Min(sizes) != slices.Max(sizes):
		cfg.NumOutputs = 0
		r.Config = cfg
		r.Put(1, sizes)
	}
	return nil
}

// splitVersions: before version 13 the lengths are an attribute; from 18 on the number of parts is one where lengths are not given.
func splitVersions() []op.Version {
	count := op.OnConfig(func(n *op.Spelling, c *SplitConfig) error {
		if !n.Has(1) {
			c.NumOutputs = len(n.Out)
		}
		return nil
	})
	return []op.Version{
		{At: 2, Up: op.Refuse("version 2 reads its lengths differently"), Down: op.Refuse("version 2 reads its lengths differently")},
		frontAxisInt(func(c *SplitConfig) *int { return &c.Axis }),
		listInput(13, "split", func(c *SplitConfig) *[]int { return &c.Split }),
		{At: 18, Up: count, Down: op.OnConfig(equalParts)},
	}
}

// equalParts: before version 18 parts without lengths are equally long.
func equalParts(n *op.Spelling, c *SplitConfig) error {
	parts := c.NumOutputs
	c.NumOutputs = 0
	if parts == 0 || n.Has(1) {
		return nil
	}
	axis := c.Axis
	if err := fromFront(n, &axis); err != nil {
		return err
	}
	rank, err := n.Rank(0)
	if err == nil && (axis < 0 || axis >= rank) {
		err = fmt.Errorf("there is no axis %d", axis)
	}
	if err != nil {
		return err
	}
	d := n.In[0].Type.Shape[axis]
	switch {
	case !d.Known() || d.Symbolic():
		return errors.New("the length of its axis is not known")
	case d.Size%parts == 0:
		return nil
	}
	each := (d.Size + parts - 1) / parts
	lengths := slices.Repeat([]int{each}, parts)
	lengths[parts-1] = d.Size - each*(parts-1)
	n.Put(1, n.Vector("split", lengths...))
	return nil
}
