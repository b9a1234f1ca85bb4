package std

import (
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ReverseSequenceConfig has the attributes of ReverseSequence. One of the two axes is 0, the other 1.
type ReverseSequenceConfig struct {
	BatchAxis *int `onnx:"batch_axis,nil=1"` // nil: 1
	TimeAxis  int  `onnx:"time_axis,default=0"`
}

// Operator makes ReverseSequenceConfig a Config.
func (ReverseSequenceConfig) Operator() op.Name { return op.Name{Name: "ReverseSequence"} }

func reverseSequence() *op.Op {
	return &op.Op{
		Name: "ReverseSequence", Since: []int{10},
		Doc: "Reverses the first elements of each sequence, as many as its length says.",
		In:  "input T, sequence_lens int64", Out: "Y T", Attrs: ReverseSequenceConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			if c.In[0].Unranked {
				return []op.Type{c.In[0]}, nil
			}
			batch, _, err := sequenceAxes(c)
			if err != nil {
				return nil, err
			}
			if l := c.In[1]; !l.Unranked && (len(l.Shape) != 1 || l.Shape[0].Differ(c.In[0].Shape[batch])) {
				return nil, c.Mismatch(1, "a length for each sequence", l)
			}
			return []op.Type{c.In[0]}, nil
		},
		Kernel: reverseSequenceKernel, Strings: moveStrings,
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := c.Apply1(c.Config, dout[0], in[1])
			return gorgonia.Nodes{d, nil}, err
		},
		Couple: func(c *op.Call) []coupling.Coupling {
			batch, time, err := sequenceAxes(c)
			if err != nil {
				return nil
			}
			var list []coupling.Coupling
			for a := range c.In[0].Shape {
				if a != time {
					list = append(list, op.Couple(coupling.In(0, a), coupling.Out(0, a)))
				}
			}
			return append(list, op.Couple(coupling.In(1, 0), coupling.Out(0, batch)))
		},
	}
}

func sequenceAxes(c *op.Call) (batch, time int, err error) {
	cfg := c.Config.(ReverseSequenceConfig)
	batch, time = 1, cfg.TimeAxis
	if cfg.BatchAxis != nil {
		batch = *cfg.BatchAxis
	}
	if batch < 0 || batch > 1 || time != 1-batch || len(c.In[0].Shape) < 2 {
		return 0, 0, c.Errorf("batch axis %d and time axis %d of %v must be 0 and 1", batch, time, c.In[0])
	}
	return batch, time, nil
}

func reverseSequenceKernel(c *op.Call) (op.Kernel, error) {
	batch, time, err := sequenceAxes(c)
	if err != nil {
		return nil, err
	}
	s := c.In[0].Sizes()
	_, inner := around(s, 1)
	inner *= c.In[0].DType.Size()
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		lens := indexInts(x, in[1])
		for b, n := range lens {
			if n < 0 || n > s[time] {
				return c.Errorf("sequence %d has length %d, the axis has %d", b, n, s[time])
			}
		}
		pool(x).Range(s[0]*s[1], max(1, 8192/max(inner, 1)), func(lo, hi int) {
			for k := lo; k < hi; k++ {
				at := [2]int{k / s[1], k % s[1]}
				if n := lens[at[batch]]; at[time] < n {
					at[time] = n - 1 - at[time]
				}
				from := (at[0]*s[1] + at[1]) * inner
				copy(out[0].Raw[k*inner:][:inner], in[0].Raw[from:])
			}
		})
		return nil
	}, nil
}
