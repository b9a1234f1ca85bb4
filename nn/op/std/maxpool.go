package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/pooling"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// MaxPoolConfig has the attributes of MaxPool.
type MaxPoolConfig struct {
	AutoPad      string `onnx:"auto_pad,default=NOTSET"` // NOTSET, VALID, SAME_UPPER or SAME_LOWER
	CeilMode     bool   `onnx:"ceil_mode,since=10"`      // round the output size up instead of down
	Dilations    []int  `onnx:"dilations,since=10"`      // of the kernel, per spatial axis; nil: 1
	Kernel       []int  `onnx:"kernel_shape,required"`   // size of the window, per spatial axis
	Pads         []int  `onnx:"pads"`                    // elements added before each spatial axis, then after each; nil: 0
	StorageOrder int    `onnx:"storage_order,since=8"`   // order in which Indices count: 0 row-major, 1 column-major
	Strides      []int  `onnx:"strides"`                 // per spatial axis; nil: 1
}

// Operator makes MaxPoolConfig a Config.
func (MaxPoolConfig) Operator() op.Name { return op.Name{Name: "MaxPool"} }

func (m MaxPoolConfig) pooling() poolAttributes {
	return poolAttributes{autoPad: m.AutoPad, kernel: m.Kernel, strides: m.Strides, dilations: m.Dilations, pads: m.Pads, ceil: m.CeilMode}
}

func maxPool() *op.Op {
	return &op.Op{
		Name: "MaxPool", Since: []int{1, 8, 10, 11, 12, 22}, Versions: maxPoolVersions(), Expose: spelled(exposeMaxPool),
		Doc: "Maximum of each window, and where it was.",
		In:  "X T", Out: "Y T, Indices? int64",
		Where: op.Where{"T": append([]op.DType{dtype.Int8, dtype.Uint8}, op.Floats()...)},
		Attrs: MaxPoolConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			t, err := inferPool(c, c.Config.(MaxPoolConfig).pooling())
			if err != nil {
				return nil, err
			}
			return append(t, t[0].Of(dtype.Int64)), nil
		},
		// The hidden output is for the gradient: which point of its window each maximum is, or its
		// row-major position where a byte cannot tell.
		Hidden: func(c *op.Call) []op.Type {
			if s, err := poolShape(c, c.Config.(MaxPoolConfig).pooling()); err == nil && s.Taps() && slices.Contains(floatTypes, c.In[0].DType) {
				return []op.Type{c.Out[0].Of(dtype.Uint8)}
			}
			return []op.Type{c.Out[0].Of(dtype.Int64)}
		},
		Kernel: maxPoolKernel, Scheduling: op.Scheduling{Patterns: maxPoolPatterns}, Grad: maxPoolGrad, Couple: couplePool,
		Traits: sliding(pooled(op.RangeFirst), 0, func(c *MaxPoolConfig) geometry {
			return geometry{&c.Kernel, &c.Strides, &c.Dilations, &c.Pads, &c.AutoPad}
		}),
	}
}

func maxPoolKernel(c *op.Call) (op.Kernel, error) {
	cfg := c.Config.(MaxPoolConfig)
	s, err := poolShape(c, cfg.pooling())
	if err != nil {
		return nil, err
	}
	var column []int
	if cfg.StorageOrder == 1 {
		column = s.In
	}
	return floatKernel(c, maxPooled[float32](s, column), maxPooled[float64](s, column)), nil
}

// maxPoolPatterns returns the geometry of the windows, for convolutions that pool their own result.
func maxPoolPatterns(c *op.Call) []op.Pattern {
	s, err := poolShape(c, c.Config.(MaxPoolConfig).pooling())
	if err != nil {
		return nil
	}
	return []op.Pattern{(*poolWindows)(&s)}
}

// maxPooled writes the positions of the maxima to output 1 (column-major over the spatial axes
// column, if not nil), and positions or taps to output 2.
func maxPooled[T kernel.Float](s pooling.Shape, column []int) op.Kernel {
	points := s.N * s.C * dtype.Product(s.Out)
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		src, y, public := dtype.Elems[T](in[0]), dtype.Elems[T](out[0]), dtype.ElemsAt[int64](out, 1)
		if y == nil { // only the indices are wanted
			y = scratch[T](x)(points)
		}
		hidden := optional(out, 2)
		byTaps := hidden != nil && dtype.Of(hidden.Dtype()) == dtype.Uint8
		if byTaps {
			pooling.MaxTaps(pool(x), &s, src, y, dtype.Elems[uint8](hidden))
		}
		index := public
		if hidden != nil && !byTaps {
			index = dtype.Elems[int64](hidden)
		}
		if !byTaps || public != nil {
			pooling.Max(pool(x), &s, src, y, index)
		}
		if public == nil {
			return nil
		}
		if hidden != nil && !byTaps {
			copy(public, index)
		}
		if column != nil {
			toColumnMajor(public, column)
		}
		return nil
	}
}

// toColumnMajor renumbers positions within each plane of the given spatial shape.
func toColumnMajor(index []int64, shape []int) {
	plane := int64(dtype.Product(shape))
	for i, v := range index {
		if v < 0 {
			continue
		}
		base, rest := v-v%plane, v%plane
		at, stride := int64(0), plane
		for a := len(shape) - 1; a >= 0; a-- {
			stride /= int64(shape[a])
			at += rest % int64(shape[a]) * stride
			rest /= int64(shape[a])
		}
		index[i] = base + at
	}
}

func maxPoolGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	s, err := poolShape(c, c.Config.(MaxPoolConfig).pooling())
	if err != nil {
		return nil, err
	}
	return gradOfPool("MaxPoolGrad", c, s, 0, dout[0], out[2])
}

// maxPoolVersions: there are no indices before version 8, and no dilations before 10.
func maxPoolVersions() []op.Version {
	plain := op.OnConfig(func(n *op.Spelling, c *MaxPoolConfig) error {
		c.Dilations = withoutOnes(c.Dilations)
		return nil
	})
	return []op.Version{{At: 8, Down: oneOutput}, {At: 10, Down: plain}, {At: 12, New: op.Where{"T": {dtype.Int8, dtype.Int16, dtype.Uint8, dtype.Uint16}}}}
}

// withoutOnes returns a list of dilations, nil if all are 1.
func withoutOnes(v []int) []int {
	if slices.ContainsFunc(v, func(n int) bool { return n != 1 }) {
		return v
	}
	return nil
}
