package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/softmax"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// HeadAttentionConfig has the attributes of HeadAttention, an operator of lowerings only:
// softmax(Scale·Q·Kᵀ + mask)·V for each head. Tensors are [batch, heads, rows, features], or
// [batch, rows, heads, features] where Rows… is set, or [heads, rows, features].
type HeadAttentionConfig struct {
	Scale                      float64
	RowsQ, RowsK, RowsV, RowsY bool // rows are in front of heads
}

// Operator makes HeadAttentionConfig a Config.
func (HeadAttentionConfig) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "HeadAttention"}
}

func headAttention() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "HeadAttention", Since: []int{1}, Doc: "Scaled dot product attention over all heads.",
		In: "Q T, K T, V T, mask? T", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: HeadAttentionConfig{},
		Infer: inferHeadAttention, Kernel: headAttentionKernel, Grad: headAttentionGrad, Scheduling: op.Scheduling{Rows: headAttentionRows}, Pinned: "exists in lowerings only",
		// The hidden output are the probabilities.
		Hidden: func(c *op.Call) []op.Type {
			b, h, s, t, _, _ := headShapes(c)
			return []op.Type{c.In[0].With(b, h, s, t)}
		},
		Cost: func(c *op.Call) (int64, int64) {
			b, h, s, t, d, e := headShapes(c)
			return int64(op.Product([]op.Dim{b, h, s, t}).Size) * int64(d.Size+e.Size), bytesMoved(c)
		},
	}
}

// headAxes returns the dimensions of a tensor: batch, heads, rows, features.
func headAxes(t op.Type, rowsFirst bool) (b, h, s, d op.Dim) {
	v := t.Shape
	switch {
	case len(v) == 3:
		return op.D(1), v[0], v[1], v[2]
	case rowsFirst:
		return v[0], v[2], v[1], v[3]
	}
	return v[0], v[1], v[2], v[3]
}

func headShapes(c *op.Call) (b, h, s, t, d, e op.Dim) {
	cfg := c.Config.(HeadAttentionConfig)
	b, h, s, d = headAxes(c.In[0], cfg.RowsQ)
	_, _, t, e = headAxes(c.In[2], cfg.RowsV)
	return b, h, s, t, d, e
}

func inferHeadAttention(c *op.Call) ([]op.Type, error) {
	cfg := c.Config.(HeadAttentionConfig)
	rank := c.In[0].Rank()
	for i := range 3 {
		if r := c.In[i].Rank(); r != rank || r < 3 || r > 4 || r == 3 && (cfg.RowsQ || cfg.RowsK || cfg.RowsV || cfg.RowsY) {
			return nil, c.Mismatch(i, "heads of rows", c.In[i])
		}
	}
	b, h, s, t, d, e := headShapes(c)
	kb, kh, kt, kd := headAxes(c.In[1], cfg.RowsK)
	vb, vh, _, _ := headAxes(c.In[2], cfg.RowsV)
	if kt.Differ(t) || kd.Differ(d) || kb.Differ(b) || vb.Differ(b) || kh.Differ(h) || vh.Differ(h) {
		return nil, c.Errorf("Q %v, K %v and V %v do not fit", c.In[0], c.In[1], c.In[2])
	}
	if c.Has(3) {
		to := []op.Dim{b, h, s, t}
		got, err := c.Broadcast(to, c.In[3].Shape)
		if err != nil || len(got) != 4 || !slices.Equal(op.Sizes(got), op.Sizes(to)) || rank == 3 && len(c.In[3].Shape) > 3 {
			return nil, c.Mismatch(3, c.In[0].With(to...), c.In[3])
		}
	}
	shape := []op.Dim{b, h, s, e}
	switch {
	case rank == 3:
		shape = shape[1:]
	case cfg.RowsY:
		shape = []op.Dim{b, s, h, e}
	}
	return []op.Type{c.In[0].With(shape...)}, nil
}

// headLayout returns sizes and strides for the kernel.
func headLayout(c *op.Call) softmax.Attention {
	cfg := c.Config.(HeadAttentionConfig)
	b, h, s, t, d, e := headShapes(c)
	a := softmax.Attention{Batch: b.Size, Heads: h.Size, Rows: s.Size, Keys: t.Size, Depth: d.Size, Width: e.Size, Scale: cfg.Scale}
	place := func(rows, features int, rowsFirst bool) softmax.HeadStrides {
		if rowsFirst {
			return softmax.HeadStrides{Batch: rows * a.Heads * features, Head: features, Row: a.Heads * features}
		}
		return softmax.HeadStrides{Batch: a.Heads * rows * features, Head: rows * features, Row: features}
	}
	a.Q, a.K = place(a.Rows, a.Depth, cfg.RowsQ), place(a.Keys, a.Depth, cfg.RowsK)
	a.V, a.Y = place(a.Keys, a.Width, cfg.RowsV), place(a.Rows, a.Width, cfg.RowsY)
	if c.Has(3) {
		mask := c.In[3].Sizes()
		stride := 1
		for i := len(mask) - 1; i >= 0; i-- {
			if mask[i] != 1 {
				a.Mask[i+4-len(mask)] = stride
			}
			stride *= mask[i]
		}
	}
	return a
}

func headAttentionKernel(c *op.Call) (op.Kernel, error) {
	a := headLayout(c)
	return floatKernel(c, headsForward[float32](a), headsForward[float64](a)), nil
}

func headsForward[T kernel.Float](a softmax.Attention) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		softmax.AttentionForward(pool(x), &a, dtype.Elems[T](in[0]), dtype.Elems[T](in[1]), dtype.Elems[T](in[2]), dtype.ElemsAt[T](in, 3), attended[T](x, a, out), dtype.ElemsAt[T](out, 1))
		return nil
	}
}

// attended returns the memory of the result: output 0, or scratch memory if only the gradient needs output 1.
func attended[T kernel.Float](x *op.Exec, a softmax.Attention, out []*tensor.Dense) []T {
	if out[0] == nil {
		return scratch[T](x)(a.Batch * a.Heads * a.Rows * a.Width)
	}
	return dtype.Elems[T](out[0])
}

// headAttentionGradConfig is the configuration of HeadAttentionGrad.
type headAttentionGradConfig struct {
	Layout softmax.Attention
}

func (headAttentionGradConfig) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "HeadAttentionGrad"}
}

func headAttentionGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "HeadAttentionGrad", Since: []int{1}, Doc: "Gradient of HeadAttention.",
		In: "dY T, Q T, K T, V T, P T", Out: "dQ T, dK T, dV T, dmask? T", Where: op.Where{"T": op.Floats()}, Attrs: headAttentionGradConfig{},
		GradMissing: op.NotTwice, Pinned: "gradient",
		Infer: func(c *op.Call) ([]op.Type, error) { return []op.Type{c.In[1], c.In[2], c.In[3], c.In[4]}, nil },
		Kernel: func(c *op.Call) (op.Kernel, error) {
			a := c.Config.(headAttentionGradConfig).Layout
			return floatKernel(c, headsBack[float32](a), headsBack[float64](a)), nil
		},
		Cost: func(c *op.Call) (int64, int64) {
			a := c.Config.(headAttentionGradConfig).Layout
			return 2 * int64(c.In[4].Elements()) * int64(a.Depth+a.Width), bytesMoved(c)
		},
	}
}

func headsBack[T kernel.Float](a softmax.Attention) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		softmax.AttentionBackward(pool(x), &a, dtype.Elems[T](in[0]), dtype.Elems[T](in[1]), dtype.Elems[T](in[2]), dtype.Elems[T](in[3]), dtype.Elems[T](in[4]),
			dtype.Elems[T](out[0]), dtype.Elems[T](out[1]), dtype.Elems[T](out[2]), dtype.ElemsAt[T](out, 3))
		return nil
	}
}

func headAttentionGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	n := 3
	if c.Has(3) {
		n = 4
	}
	g, err := c.ApplyN(n, headAttentionGradConfig{Layout: headLayout(c)}, dout[0], in[0], in[1], in[2], out[1])
	if err != nil || n == 3 {
		return g, err
	}
	g[3], err = c.SumTo(g[3], c.In[3].Shape...)
	return g, err
}

// headAttentionRows: those of Q, which read the keys and values of their head, or of all heads of an
// element of the batch.
func headAttentionRows(c *op.Call) *trait.Rows {
	cfg, a := c.Config.(HeadAttentionConfig), headLayout(c)
	if cfg.RowsQ != cfg.RowsY || a.Mask[2] != 0 {
		return nil
	}
	r := &trait.Rows{Out: a.Width, In: []int{a.Depth, 0, 0, 0}[:len(c.In)], Groups: a.Batch * a.Heads}
	if cfg.RowsQ {
		r.Out, r.In[0], r.Groups = a.Heads*a.Width, a.Heads*a.Depth, a.Batch
	}
	return r
}
