package op

// FlattenConfig has the attributes of Flatten. Axis is 1 when nil.
type FlattenConfig struct {
	Axis *int `onnx:"axis"`
}

// Operator makes FlattenConfig a Config.
func (FlattenConfig) Operator() Name { return Name{Name: "Flatten"} }

func flatten() *Op {
	return &Op{
		Name: "Flatten", Since: []int{1, 9, 11, 13, 21, 23, 24, 25}, Versions: []Version{frontAxis(func(c *FlattenConfig) **int { return &c.Axis })},
		Doc: "Takes the axes before and from an axis on together: a matrix.",
		In:  "input T", Out: "output T", Attrs: FlattenConfig{},
		Infer: func(c *Call) ([]Type, error) {
			if c.In[0].Unranked {
				return []Type{c.In[0].With(Unknown, Unknown)}, nil
			}
			axis, err := flattenAxis(c)
			if err != nil {
				return nil, err
			}
			s := c.In[0].Shape
			return []Type{c.In[0].With(Product(s[:axis]), Product(s[axis:]))}, nil
		},
		View: true, Kernel: copyKernel, Strings: moveStrings, Grad: reshapeGrad, Couple: coupleFlatten,
		Traits: moved(Moved),
	}
}

// flattenAxis is the number of axes that make the rows, all of them included.
func flattenAxis(c *Call) (int, error) {
	rank, axis := len(c.In[0].Shape), orInt(c.Config.(FlattenConfig).Axis, 1)
	if axis < -rank || axis > rank {
		return 0, c.Errorf("axis %d is outside of [%d, %d]", axis, -rank, rank)
	}
	if axis < 0 {
		axis += rank
	}
	return axis, nil
}

// coupleFlatten: every input axis is a factor of the row or the column.
func coupleFlatten(c *Call) []Coupling {
	axis, err := flattenAxis(c)
	if err != nil {
		return nil
	}
	s := c.In[0].Sizes()
	var list []Coupling
	for a := range s {
		from, to, col := 0, axis, 0
		if a >= axis {
			from, to, col = axis, len(s), 1
		}
		k := Couple(InAxis(0, a), OutAxis(0, col))
		if to-from > 1 {
			k.Map = IndexMap{Relation: Factor, Outer: count1(s[from:a]), Inner: count1(s[a+1 : to])}
		}
		list = append(list, k)
	}
	return list
}
