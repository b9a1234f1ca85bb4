package std

import (
	"slices"

	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// GatherNDConfig has the attribute of GatherND.
type GatherNDConfig struct {
	BatchDims int `onnx:"batch_dims,default=0,since=12"` // number of leading axes that data and indices share
}

// Operator makes GatherNDConfig a Config.
func (GatherNDConfig) Operator() op.Name { return op.Name{Name: "GatherND"} }

func gatherND() *op.Op {
	return &op.Op{
		Name: "GatherND", Since: []int{11, 12, 13},
		Doc: "Picks slices by coordinates, which the last axis of the indices holds.",
		In:  "data T, indices int64", Out: "output T", Attrs: GatherNDConfig{},
		Infer: inferGatherND,
		Kernel: func(c *op.Call) (op.Kernel, error) {
			b := tupleBlocks(c, c.In[0].Sizes(), c.In[1].Sizes(), c.Config.(GatherNDConfig).BatchDims)
			width := c.In[0].DType.Size()
			return func(x *op.Exec, out, in []*tensor.Dense) error {
				return b.gather(x, out[0].Raw, in[0].Raw, in[1], width)
			}, nil
		},
		Strings: moveStrings,
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := c.Apply1(blockSumConfig{Shape: c.In[0].Shape, Tuple: true, Batch: c.Config.(GatherNDConfig).BatchDims}, dout[0], in[1])
			return gorgonia.Nodes{d, nil}, err
		},
		Pinned: "the indices choose elements",
	}
}

func inferGatherND(c *op.Call) ([]op.Type, error) {
	unranked := []op.Type{{DType: c.In[0].DType, Unranked: true}}
	if c.In[0].Unranked || c.In[1].Unranked {
		return unranked, nil
	}
	data, index, batch := c.In[0].Shape, c.In[1].Shape, c.Config.(GatherNDConfig).BatchDims
	if len(index) == 0 || len(data) == 0 {
		return nil, c.Errorf("wants data and indices of rank 1 at least, got %v and %v", c.In[0], c.In[1])
	}
	if batch < 0 || batch >= min(len(data), len(index)) {
		return nil, c.Errorf("batch_dims %d is outside of [0, %d)", batch, min(len(data), len(index)))
	}
	for a := range batch {
		if data[a].Differ(index[a]) {
			return nil, c.Errorf("data %v and indices %v differ in batch dimension %d", c.In[0], c.In[1], a)
		}
	}
	k := index[len(index)-1]
	if !k.Known() {
		return unranked, nil
	}
	if k.Size > len(data)-batch {
		return nil, c.Errorf("indices have %d coordinates, the data has %d axes after the batch axes", k.Size, len(data)-batch)
	}
	return []op.Type{c.In[0].With(slices.Concat(index[:len(index)-1], data[batch+k.Size:])...)}, nil
}
