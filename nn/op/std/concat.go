package std

import (
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
)

// ConcatConfig has the attributes of Concat. Before version 4 the axis is 1 when absent.
type ConcatConfig struct {
	Axis int `onnx:"axis,required"` // from −rank to rank−1
}

// Operator makes ConcatConfig a Config.
func (ConcatConfig) Operator() op.Name { return op.Name{Name: "Concat"} }

func concat() *op.Op {
	return &op.Op{
		Name: "Concat", Since: []int{4, 11, 13}, Versions: []op.Version{frontAxisInt(func(c *ConcatConfig) *int { return &c.Axis })},
		Doc: "Puts tensors behind one another along an axis.",
		In:  "inputs* T", Out: "concat_result T",
		Attrs: ConcatConfig{},
		Infer: inferConcat, Dims: concatDims, Kernel: concatKernel, Scheduling: op.Scheduling{Patterns: concatPatterns, Cheap: true}, Strings: moveStrings, Grad: concatGrad, Couple: coupleConcat,
		Traits: op.Traits{Zero: op.ZeroParts, Range: op.RangeHull, Moves: trait.MovedAll, Concat: concatAxis},
	}
}

func concatAxis(c *op.Call) (int, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return 0, err
	}
	return c.Axis(c.Config.(ConcatConfig).Axis, rank)
}

func inferConcat(c *op.Call) ([]op.Type, error) {
	axis, err := concatAxis(c)
	if err != nil {
		return nil, err
	}
	shape, pace := append([]op.Dim(nil), c.In[0].Shape...), poolOf(c).Pace()
	for i, t := range c.In[1:] {
		pace.Did(64)
		if t.Unranked {
			return []op.Type{{DType: c.In[0].DType, Unranked: true}}, nil
		}
		if len(t.Shape) != len(shape) {
			return nil, c.Errorf("input %d is %v, input 0 is %v: ranks differ", i+1, t, c.In[0])
		}
		for a, d := range t.Shape {
			if a == axis {
				shape[a] = shape[a].Add(d)
				continue
			}
			var ok bool
			if shape[a], ok = shape[a].Merge(d); !ok {
				return nil, c.Errorf("input %d is %v, input 0 is %v: dimension %d differs", i+1, t, c.In[0], a)
			}
		}
	}
	return []op.Type{c.In[0].With(shape...)}, nil
}

// concatDims concatenates the known elements of shape vectors.
func concatDims(c *op.Call) []op.Known {
	var all []op.Dim
	exact := true
	for i := range c.In {
		d, err := c.Dims(i)
		if err != nil {
			return nil
		}
		all, exact = append(all, d...), exact && c.Exact(i, d)
	}
	return []op.Known{{Dims: all, Exact: exact}}
}

func concatGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	axis, err := concatAxis(c)
	if err != nil {
		return nil, err
	}
	sizes := make([]int, len(c.In))
	for i, t := range c.In {
		sizes[i] = t.Shape[axis].Size
	}
	return splitAt(c, dout[0], axis, sizes)
}

// splitAt is Split with its sizes as an attribute, for the operator of the call by.
func splitAt(by *op.Call, x *gorgonia.Node, axis int, sizes []int) (gorgonia.Nodes, error) {
	if err := engine.HoldNodes(x.Graph(), len(x.Graph().AllNodes())+2*len(sizes)); err != nil { // each part is made of at least one more
		return nil, by.Errorf("%d parts: %w", len(sizes), err)
	}
	c, err := by.NewCall(SplitConfig{Axis: axis, Split: sizes}, op.NodeType(x))
	if err != nil {
		return nil, err
	}
	c.Version, c.Outputs = 11, len(sizes)
	if err := c.Resolve(); err != nil {
		return nil, err
	}
	return op.Emit(x.Graph(), c, gorgonia.Nodes{x})
}

func coupleConcat(c *op.Call) []coupling.Coupling {
	axis, err := concatAxis(c)
	if err != nil {
		return nil
	}
	var list []coupling.Coupling
	at := 0
	for i, t := range c.In {
		for a, d := range t.Shape {
			k := op.Couple(coupling.In(i, a), coupling.Out(0, a))
			if a == axis {
				k.Map = coupling.Map{Relation: coupling.Offset, Shift: at, Count: d.Size}
				at += d.Size
			}
			list = append(list, k)
		}
	}
	return list
}
