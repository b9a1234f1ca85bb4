package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/softmax"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// PackedAttentionConfig has the attributes of PackedAttention, an operator of lowerings only: HeadAttention
// of queries, keys and values that together are the elements of one tensor.
type PackedAttentionConfig struct {
	Layout softmax.Attention // where queries, keys and values are in the tensor
	From   [3]int            // where the first query, key and value are
	RowsY  bool              // rows of the output are in front of heads
}

// Operator makes PackedAttentionConfig a Config.
func (PackedAttentionConfig) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "PackedAttention"}
}

func packedAttention() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "PackedAttention", Since: []int{1}, Doc: "HeadAttention of queries, keys and values in one tensor.",
		In: "QKV T, mask? T", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: PackedAttentionConfig{},
		Infer: inferPackedAttention, Kernel: packedAttentionKernel, Grad: packedAttentionGrad, Pinned: "exists in lowerings only",
		// The hidden output are the probabilities.
		Hidden: func(c *op.Call) []op.Type {
			a := c.Config.(PackedAttentionConfig).Layout
			return []op.Type{c.In[0].With(op.Dims(a.Batch, a.Heads, a.Rows, a.Keys)...)}
		},
		Cost: func(c *op.Call) (int64, int64) {
			a := c.Config.(PackedAttentionConfig).Layout
			return a.MultiplyAdds(), bytesMoved(c)
		},
	}
}

func inferPackedAttention(c *op.Call) ([]op.Type, error) {
	cfg := c.Config.(PackedAttentionConfig)
	a := cfg.Layout
	if n := op.D(a.Batch * a.Heads * a.Rows * 3 * a.Depth); n.Differ(op.Product(c.In[0].Shape)) {
		return nil, c.Errorf("queries, keys and values have %v elements, the tensor is %v", n, c.In[0])
	}
	if cfg.RowsY {
		return []op.Type{c.In[0].With(op.Dims(a.Batch, a.Rows, a.Heads, a.Width)...)}, nil
	}
	return []op.Type{c.In[0].With(op.Dims(a.Batch, a.Heads, a.Rows, a.Width)...)}, nil
}

func packedAttentionKernel(c *op.Call) (op.Kernel, error) {
	cfg := c.Config.(PackedAttentionConfig)
	return floatKernel(c, packedForward[float32](cfg), packedForward[float64](cfg)), nil
}

func packedForward[T kernel.Float](cfg PackedAttentionConfig) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		all := dtype.Elems[T](in[0])
		if len(all) == 0 {
			return nil
		}
		softmax.AttentionForward(pool(x), &cfg.Layout, all[cfg.From[0]:], all[cfg.From[1]:], all[cfg.From[2]:], dtype.ElemsAt[T](in, 1), attended[T](x, cfg.Layout, out), dtype.ElemsAt[T](out, 1))
		return nil
	}
}

// packedAttentionGradConfig is the configuration of PackedAttentionGrad.
type packedAttentionGradConfig struct{ PackedAttentionConfig }

func (packedAttentionGradConfig) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "PackedAttentionGrad"}
}

func packedAttentionGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "PackedAttentionGrad", Since: []int{1}, Doc: "Gradient of PackedAttention.",
		In: "dY T, QKV T, P T", Out: "dQKV T, dmask? T", Where: op.Where{"T": op.Floats()}, Attrs: packedAttentionGradConfig{},
		NoGrad: "gradient", Pinned: "gradient",
		Infer: func(c *op.Call) ([]op.Type, error) { return []op.Type{c.In[1], c.In[2]}, nil },
		Kernel: func(c *op.Call) (op.Kernel, error) {
			cfg := c.Config.(packedAttentionGradConfig).PackedAttentionConfig
			return floatKernel(c, packedBack[float32](cfg), packedBack[float64](cfg)), nil
		},
		Cost: func(c *op.Call) (int64, int64) {
			a := c.Config.(packedAttentionGradConfig).Layout
			return 2 * a.MultiplyAdds(), bytesMoved(c)
		},
	}
}

func packedBack[T kernel.Float](cfg PackedAttentionConfig) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		all, d := dtype.Elems[T](in[1]), dtype.ElemsAt[T](out, 0)
		if len(all) == 0 {
			return nil
		}
		from := func(t []T, part int) []T {
			if t == nil {
				return nil
			}
			return t[cfg.From[part]:]
		}
		softmax.AttentionBackward(pool(x), &cfg.Layout, dtype.Elems[T](in[0]), from(all, 0), from(all, 1), from(all, 2), dtype.Elems[T](in[2]),
			from(d, 0), from(d, 1), from(d, 2), dtype.ElemsAt[T](out, 1))
		return nil
	}
}

func packedAttentionGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	n := 1
	if c.Has(1) {
		n = 2
	}
	g, err := c.ApplyN(n, packedAttentionGradConfig{c.Config.(PackedAttentionConfig)}, dout[0], in[0], out[1])
	if err != nil || n == 1 {
		return g, err
	}
	g[1], err = c.SumTo(g[1], c.In[1].Shape...)
	return g, err
}
