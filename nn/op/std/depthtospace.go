package std

import (
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
)

// DepthToSpaceConfig has the attributes of DepthToSpace. In mode DCR a channel is (block row,
// block column, depth), in CRD (depth, block row, block column).
type DepthToSpaceConfig struct {
	BlockSize int    `onnx:"blocksize,required"`        // height and width of a block, 1 or more
	Mode      string `onnx:"mode,default=DCR,since=11"` // DCR or CRD
}

// Operator makes DepthToSpaceConfig a Config.
func (DepthToSpaceConfig) Operator() op.Name { return op.Name{Name: "DepthToSpace"} }

// SpaceToDepthConfig has the attribute of SpaceToDepth.
type SpaceToDepthConfig struct {
	BlockSize int `onnx:"blocksize,required"` // height and width of a block, 1 or more
}

// Operator makes SpaceToDepthConfig a Config.
func (SpaceToDepthConfig) Operator() op.Name { return op.Name{Name: "SpaceToDepth"} }

func depthToSpace() *op.Op {
	return &op.Op{
		Name: "DepthToSpace", Since: []int{1, 11, 13},
		Doc: "Makes blocks of pixels of channels.",
		In:  "input T", Out: "output T", Attrs: DepthToSpaceConfig{},
		Check: func(c *op.Call) error {
			if m := c.Config.(DepthToSpaceConfig).Mode; m != "DCR" && m != "CRD" {
				return c.Errorf("mode %q is unknown", m)
			}
			return nil
		},
		Infer: inferDepthToSpace, Kernel: depthToSpaceKernel, Strings: moveStrings, Grad: depthToSpaceGrad,
		Couple: func(c *op.Call) []coupling.Coupling {
			cfg := c.Config.(DepthToSpaceConfig)
			k := op.Couple(coupling.Out(0, 1), coupling.In(0, 1))
			k.Map = coupling.Map{Relation: coupling.Factor, Outer: cfg.BlockSize * cfg.BlockSize, Inner: 1}
			if cfg.Mode == "CRD" {
				k.Map.Outer, k.Map.Inner = 1, k.Map.Outer
			}
			return []coupling.Coupling{op.Couple(coupling.In(0, 0), coupling.Out(0, 0)), k}
		},
		Traits: moved(trait.Moved),
	}
}

func spaceToDepth() *op.Op {
	return &op.Op{
		Name: "SpaceToDepth", Since: []int{1, 13},
		Doc: "Makes channels of blocks of pixels.",
		In:  "input T", Out: "output T", Attrs: SpaceToDepthConfig{},
		Infer: inferSpaceToDepth, Kernel: spaceToDepthKernel, Strings: moveStrings,
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := c.Apply1(DepthToSpaceConfig{BlockSize: c.Config.(SpaceToDepthConfig).BlockSize}, dout[0])
			return gorgonia.Nodes{d}, err
		},
		Couple: func(c *op.Call) []coupling.Coupling {
			b := c.Config.(SpaceToDepthConfig).BlockSize
			k := op.Couple(coupling.In(0, 1), coupling.Out(0, 1))
			k.Map = coupling.Map{Relation: coupling.Factor, Outer: b * b, Inner: 1}
			return []coupling.Coupling{op.Couple(coupling.In(0, 0), coupling.Out(0, 0)), k}
		},
		Traits: moved(trait.Moved),
	}
}

// images checks that the input is a batch of images and the block sensible.
func images(c *op.Call, block int) ([]op.Dim, error) {
	if block < 1 || block > 1<<15 {
		return nil, c.Errorf("blocksize is %d", block)
	}
	if c.In[0].Unranked {
		return anyDims(4), nil
	}
	if len(c.In[0].Shape) != 4 {
		return nil, c.Mismatch(0, "rank 4", c.In[0])
	}
	return c.In[0].Shape, nil
}

func inferDepthToSpace(c *op.Call) ([]op.Type, error) {
	b := c.Config.(DepthToSpaceConfig).BlockSize
	s, err := images(c, b)
	if err != nil {
		return nil, err
	}
	if s[1].Known() && s[1].Size%(b*b) != 0 {
		return nil, c.Errorf("cannot make blocks of %d×%d of %v channels", b, b, s[1])
	}
	return []op.Type{c.In[0].With(s[0], s[1].Div(op.D(b*b)), s[2].Mul(op.D(b)), s[3].Mul(op.D(b)))}, nil
}

func inferSpaceToDepth(c *op.Call) ([]op.Type, error) {
	b := c.Config.(SpaceToDepthConfig).BlockSize
	s, err := images(c, b)
	if err != nil {
		return nil, err
	}
	if s[2].Known() && s[2].Size%b != 0 || s[3].Known() && s[3].Size%b != 0 {
		return nil, c.Errorf("cannot cut %v×%v pixels into blocks of %d×%d", s[2], s[3], b, b)
	}
	return []op.Type{c.In[0].With(s[0], s[1].Mul(op.D(b*b)), s[2].Div(op.D(b)), s[3].Div(op.D(b)))}, nil
}

// permuted reads the input, seen in another shape, with its axes permuted.
func permuted(c *op.Call, shape, perm []int) (op.Kernel, error) {
	var s strided
	strides := rowStrides(shape)
	for _, a := range perm {
		s.shape = append(s.shape, shape[a])
		s.strides = append(s.strides, strides[a])
	}
	s, err := s.merged(c)
	if err != nil {
		return nil, err
	}
	return s.reading(c), nil
}

// blockShape returns how DepthToSpace sees its input, and the permutation that makes images of it.
func blockShape(in []int, cfg DepthToSpaceConfig) (shape, perm []int) {
	b := cfg.BlockSize
	if cfg.Mode == "CRD" {
		return []int{in[0], in[1] / (b * b), b, b, in[2], in[3]}, []int{0, 1, 4, 2, 5, 3}
	}
	return []int{in[0], b, b, in[1] / (b * b), in[2], in[3]}, []int{0, 3, 4, 1, 5, 2}
}

func depthToSpaceKernel(c *op.Call) (op.Kernel, error) {
	shape, perm := blockShape(c.In[0].Sizes(), c.Config.(DepthToSpaceConfig))
	return permuted(c, shape, perm)
}

func spaceToDepthKernel(c *op.Call) (op.Kernel, error) {
	s, b := c.In[0].Sizes(), c.Config.(SpaceToDepthConfig).BlockSize
	return permuted(c, []int{s[0], s[1], s[2] / b, b, s[3] / b, b}, []int{0, 3, 5, 1, 2, 4})
}

func depthToSpaceGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	cfg := c.Config.(DepthToSpaceConfig)
	if cfg.Mode == "DCR" {
		d, err := c.Apply1(SpaceToDepthConfig{cfg.BlockSize}, dout[0])
		return gorgonia.Nodes{d}, err
	}
	shape, perm := blockShape(c.In[0].Sizes(), cfg)
	split := make([]int, len(perm))
	for i, a := range perm {
		split[i] = shape[a]
	}
	d, err := c.ReshapeTo(dout[0], op.Dims(split...)...)
	if err == nil {
		d, err = Transposed(c.Set, d, inverse(perm))
	}
	if err == nil {
		d, err = c.ReshapeTo(d, c.In[0].Shape...)
	}
	return gorgonia.Nodes{d}, err
}
