package op

import (
	"gorgonia.org/gorgonia"
)

// ConcatConfig has the attributes of Concat. Before version 4 the axis is 1 when absent.
type ConcatConfig struct {
	Axis int `onnx:"axis,required"`
}

// Operator makes ConcatConfig a Config.
func (ConcatConfig) Operator() Name { return Name{Name: "Concat"} }

func concat() *Op {
	return &Op{
		Name: "Concat", Since: []int{4, 11, 13}, Versions: []Version{frontAxisInt(func(c *ConcatConfig) *int { return &c.Axis })},
		Doc: "Puts tensors behind one another along an axis.",
		In:  "inputs* T", Out: "concat_result T",
		Attrs: ConcatConfig{},
		Infer: inferConcat, Dims: concatDims, Kernel: concatKernel, Patterns: concatPatterns, Strings: moveStrings, Grad: concatGrad, Couple: coupleConcat, Cheap: true,
		Traits: Traits{Zero: ZeroParts, Range: RangeHull, Moves: MovedAll, Concat: concatAxis},
	}
}

func concatAxis(c *Call) (int, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return 0, err
	}
	return c.Axis(c.Config.(ConcatConfig).Axis, rank)
}

func inferConcat(c *Call) ([]Type, error) {
	axis, err := concatAxis(c)
	if err != nil {
		return nil, err
	}
	shape := append([]Dim(nil), c.In[0].Shape...)
	for i, t := range c.In[1:] {
		if t.Unranked {
			return []Type{{DType: c.In[0].DType, Unranked: true}}, nil
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
	return []Type{c.In[0].With(shape...)}, nil
}

// concatDims joins what is known of shape vectors.
func concatDims(c *Call) []Known {
	var all []Dim
	exact := true
	for i := range c.In {
		d, err := c.Dims(i)
		if err != nil {
			return nil
		}
		all, exact = append(all, d...), exact && c.exact(i, d)
	}
	return []Known{{Dims: all, Exact: exact}}
}

func concatGrad(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	axis, err := concatAxis(c)
	if err != nil {
		return nil, err
	}
	sizes := make([]int, len(c.In))
	for i, t := range c.In {
		sizes[i] = t.Shape[axis].Size
	}
	return c.SplitAt(dout[0], axis, sizes)
}

// splitAt is Split with its sizes as an attribute.
func (s Set) SplitAt(x *gorgonia.Node, axis int, sizes []int) (gorgonia.Nodes, error) {
	c, err := s.NewCall(SplitConfig{Axis: axis, Split: sizes}, NodeType(x))
	if err != nil {
		return nil, err
	}
	c.Version, c.Outputs = 11, len(sizes)
	if err := c.Resolve(); err != nil {
		return nil, err
	}
	return Emit(x.Graph(), c, gorgonia.Nodes{x})
}

func coupleConcat(c *Call) []Coupling {
	axis, err := concatAxis(c)
	if err != nil {
		return nil
	}
	var list []Coupling
	at := 0
	for i, t := range c.In {
		for a, d := range t.Shape {
			k := Couple(InAxis(i, a), OutAxis(0, a))
			if a == axis {
				k.Map = IndexMap{Relation: Offset, Shift: at, Count: d.Size}
				at += d.Size
			}
			list = append(list, k)
		}
	}
	return list
}
