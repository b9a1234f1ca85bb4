package std

import (
	"math"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// ShapeConfig has the attributes of Shape: the slice [Start, End) of the dimensions; negative
// numbers count from the end.
type ShapeConfig struct {
	Start int  `onnx:"start,default=0,since=15"` // first axis
	End   *int `onnx:"end,since=15"`             // axis after the last; nil: the rank
}

// Operator makes ShapeConfig a Config.
func (ShapeConfig) Operator() op.Name { return op.Name{Name: "Shape"} }

func shapeOp() *op.Op {
	return &op.Op{
		Name: "Shape", Since: []int{1, 13, 15, 19, 21, 23, 24, 25}, Versions: shapeVersions(),
		Doc: "The dimensions of a tensor.",
		In:  "data T", Out: "shape int64",
		Attrs: ShapeConfig{},
		Infer: inferShape, Dims: shapeDims, Kernel: dimsKernel, Strings: dimsOfStrings,
		NoGrad: "a shape does not depend on the elements", Pinned: "reads the length of every axis",
		Traits: op.Traits{Lengths: func(c *op.Call, axis int) (int, bool) {
			lo, hi := shapeRange(c)
			return axis - lo, axis >= lo && axis < hi
		}},
	}
}

// shapeRange returns the range of axes whose lengths are listed; it is empty where lo is not below hi.
func shapeRange(c *op.Call) (lo, hi int) {
	cfg := c.Config.(ShapeConfig)
	rank := len(c.In[0].Shape)
	clamp := func(i int) int {
		if i < 0 {
			i += rank
		}
		return min(max(i, 0), rank)
	}
	lo, hi = clamp(cfg.Start), rank
	if cfg.End != nil {
		hi = clamp(*cfg.End)
	}
	return lo, hi
}

func shapeSlice(c *op.Call) []op.Dim {
	lo, hi := shapeRange(c)
	return c.In[0].Shape[lo:max(lo, hi)]
}

func inferShape(c *op.Call) ([]op.Type, error) {
	if c.In[0].Unranked {
		return []op.Type{op.T(dtype.Int64, op.Unknown())}, nil
	}
	return []op.Type{op.Shaped(dtype.Int64, len(shapeSlice(c)))}, nil
}

func shapeDims(c *op.Call) []op.Known {
	if c.In[0].Unranked {
		return nil
	}
	return knownDims(shapeSlice(c))
}

// knownDims is nothing when a dimension is neither a number nor an expression: an unnamed one
// would read as −1.
func knownDims(d []op.Dim) []op.Known {
	for _, x := range d {
		if !x.Known() && x.Sym == "" {
			return nil
		}
	}
	return []op.Known{{Dims: append([]op.Dim{}, d...)}}
}

// dimsKernel writes the values of Dims: the output does not depend on the elements of the inputs.
func dimsKernel(c *op.Call) (op.Kernel, error) {
	n, err := dimsValue(c)
	if err != nil {
		return nil, err
	}
	return func(_ *op.Exec, out, _ []*tensor.Dense) error {
		copy(dtype.Slice[int64](out[0]), n)
		return nil
	}, nil
}

func dimsValue(c *op.Call) ([]int64, error) {
	k := c.Op.Dims(c)
	if len(k) == 0 {
		return nil, c.Errorf("the shape %v is not known", c.In[0])
	}
	n := make([]int64, len(k[0].Dims))
	for i, d := range k[0].Dims {
		n[i] = int64(d.Size)
	}
	return n, nil
}

// dimsOfStrings is dimsKernel for tensors of strings. Those in a lowering have shapes too.
func dimsOfStrings(c *op.Call, _ []dtype.Value) ([]dtype.Value, error) {
	n, err := dimsValue(c)
	if err != nil {
		return nil, err
	}
	v, err := dtype.FromSlice(n, c.Out[0].Sizes()...)
	return []dtype.Value{v}, err
}

// shapeVersions: before version 15 Shape returns all dimensions, and a Slice selects some.
func shapeVersions() []op.Version {
	return []op.Version{{At: 15, Down: op.OnConfig(func(n *op.Spelling, c *ShapeConfig) error {
		if c.Start == 0 && c.End == nil {
			return nil
		}
		end := orInt(c.End, math.MaxInt32)
		all := op.T(dtype.Int64, op.Unknown())
		if rank, err := n.Rank(0); err == nil {
			all = op.Shaped(dtype.Int64, rank)
		}
		n.After("shape", all, SliceConfig{}, n.Vector("start", c.Start), n.Vector("end", end))
		*c = ShapeConfig{}
		return nil
	})}}
}
