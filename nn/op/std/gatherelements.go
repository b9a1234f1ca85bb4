package std

import (
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// GatherElementsConfig has the attribute of GatherElements.
type GatherElementsConfig struct {
	Axis int `onnx:"axis,default=0"` // from −rank to rank−1
}

// Operator makes GatherElementsConfig a Config.
func (GatherElementsConfig) Operator() op.Name { return op.Name{Name: "GatherElements"} }

func gatherElements() *op.Op {
	return &op.Op{
		Name: "GatherElements", Since: []int{11, 13},
		Doc: "Picks, for each position of the indices, the element whose coordinate along the axis is the index.",
		In:  "data T, indices Tind", Out: "output T", Where: op.Where{"Tind": op.Indices()}, Attrs: GatherElementsConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			t := c.In[1]
			t.DType = c.In[0].DType
			if c.In[0].Unranked || c.In[1].Unranked {
				return []op.Type{t}, nil
			}
			axis, err := c.Axis(c.Config.(GatherElementsConfig).Axis, len(c.In[0].Shape))
			if err != nil {
				return nil, err
			}
			return []op.Type{t}, elementShapes(c, axis, 1)
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			axis, err := c.Axis(c.Config.(GatherElementsConfig).Axis, len(c.In[0].Shape))
			if err != nil {
				return nil, err
			}
			b := elementBlocks(c, c.In[0].Sizes(), c.In[1].Sizes(), axis)
			width := c.In[0].DType.Size()
			return func(x *op.Exec, out, in []*tensor.Dense) error {
				return b.gather(x, out[0].Raw, in[0].Raw, in[1], width)
			}, nil
		},
		Strings: moveStrings,
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			axis, err := c.Axis(c.Config.(GatherElementsConfig).Axis, len(c.In[0].Shape))
			if err != nil {
				return nil, err
			}
			d, err := c.Apply1(blockSumConfig{Shape: c.In[0].Shape, Axis: axis}, dout[0], in[1])
			return gorgonia.Nodes{d, nil}, err
		},
		Pinned: "the indices choose elements",
	}
}

// elementShapes checks that the index tensor, input i, fits into the data but along the axis.
func elementShapes(c *op.Call, axis, i int) error {
	data, index := c.In[0].Shape, c.In[i].Shape
	if len(index) != len(data) {
		return c.Mismatch(i, "the rank of the data", c.In[i])
	}
	for a, n := range index {
		if a != axis && n.Known() && data[a].Known() && n.Size > data[a].Size {
			return c.Mismatch(i, "at most the data's length in dimension "+op.Dim{Size: a}.String(), c.In[i])
		}
	}
	return nil
}
