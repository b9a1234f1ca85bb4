package op

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// HeadAttentionConfig has the attributes of HeadAttention, an operator of lowerings only:
// softmax(Scale·Q·Kᵀ + mask)·V for each head. Tensors are [batch, heads, rows, features], or
// [batch, rows, heads, features] where Rows… is set, or [heads, rows, features].
type HeadAttentionConfig struct {
	Scale                      float64
	RowsQ, RowsK, RowsV, RowsY bool // rows lie in front of heads
}

// Operator makes HeadAttentionConfig a Config.
func (HeadAttentionConfig) Operator() Name { return Name{Domain: Internal, Name: "HeadAttention"} }

func headAttention() *Op {
	return &Op{
		Domain: Internal, Name: "HeadAttention", Since: []int{1}, Doc: "Scaled dot product attention over all heads.",
		In: "Q T, K T, V T, mask? T", Out: "Y T", Where: Where{"T": Floats}, Attrs: HeadAttentionConfig{},
		Infer: inferHeadAttention, Kernel: headAttentionKernel, Grad: headAttentionGrad, Rows: headAttentionRows, Pinned: "exists in lowerings only",
		// The hidden output are the probabilities.
		Hidden: func(c *Call) []Type {
			b, h, s, t, _, _ := headShapes(c)
			return []Type{c.In[0].With(b, h, s, t)}
		},
		Cost: func(c *Call) (int64, int64) {
			b, h, s, t, d, e := headShapes(c)
			return int64(Product([]Dim{b, h, s, t}).Size) * int64(d.Size+e.Size), c.moved()
		},
	}
}

// headAxes are the dimensions of a tensor: batch, heads, rows, features.
func headAxes(t Type, rowsFirst bool) (b, h, s, d Dim) {
	v := t.Shape
	switch {
	case len(v) == 3:
		return D(1), v[0], v[1], v[2]
	case rowsFirst:
		return v[0], v[2], v[1], v[3]
	}
	return v[0], v[1], v[2], v[3]
}

func headShapes(c *Call) (b, h, s, t, d, e Dim) {
	cfg := c.Config.(HeadAttentionConfig)
	b, h, s, d = headAxes(c.In[0], cfg.RowsQ)
	_, _, t, e = headAxes(c.In[2], cfg.RowsV)
	return b, h, s, t, d, e
}

func inferHeadAttention(c *Call) ([]Type, error) {
	cfg := c.Config.(HeadAttentionConfig)
	rank := c.In[0].Rank()
	for i := range 3 {
		if r := c.In[i].Rank(); r != rank || r < 3 || r > 4 || r == 3 && (cfg.RowsQ || cfg.RowsK || cfg.RowsV || cfg.RowsY) {
			return nil, c.wantGot(i, "heads of rows", c.In[i])
		}
	}
	b, h, s, t, d, e := headShapes(c)
	kb, kh, kt, kd := headAxes(c.In[1], cfg.RowsK)
	vb, vh, _, _ := headAxes(c.In[2], cfg.RowsV)
	if kt.Differ(t) || kd.Differ(d) || kb.Differ(b) || vb.Differ(b) || kh.Differ(h) || vh.Differ(h) {
		return nil, c.Errorf("Q %v, K %v and V %v do not fit", c.In[0], c.In[1], c.In[2])
	}
	if c.Has(3) {
		to := []Dim{b, h, s, t}
		got, err := c.Broadcast(to, c.In[3].Shape)
		if err != nil || len(got) != 4 || !slices.Equal(sizes(got), sizes(to)) || rank == 3 && len(c.In[3].Shape) > 3 {
			return nil, c.wantGot(3, c.In[0].With(to...), c.In[3])
		}
	}
	shape := []Dim{b, h, s, e}
	switch {
	case rank == 3:
		shape = shape[1:]
	case cfg.RowsY:
		shape = []Dim{b, s, h, e}
	}
	return []Type{c.In[0].With(shape...)}, nil
}

// headLayout gives the kernel sizes and strides.
func headLayout(c *Call) kernel.Attention {
	cfg := c.Config.(HeadAttentionConfig)
	b, h, s, t, d, e := headShapes(c)
	a := kernel.Attention{Batch: b.Size, Heads: h.Size, Rows: s.Size, Keys: t.Size, Depth: d.Size, Width: e.Size, Scale: cfg.Scale}
	place := func(rows, features int, rowsFirst bool) kernel.HeadStrides {
		if rowsFirst {
			return kernel.HeadStrides{Batch: rows * a.Heads * features, Head: features, Row: a.Heads * features}
		}
		return kernel.HeadStrides{Batch: a.Heads * rows * features, Head: rows * features, Row: features}
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

func headAttentionKernel(c *Call) (Kernel, error) {
	a := headLayout(c)
	return perPrecision(c.In[0].DType, headsForward[float32](a), headsForward[float64](a)), nil
}

func headsForward[T kernel.Float](a kernel.Attention) Kernel {
	return func(x *Exec, out, in []*tensor.Dense) error {
		kernel.AttentionForward(pool(x), &a, elems[T](in[0]), elems[T](in[1]), elems[T](in[2]), elemsAt[T](in, 3), elems[T](out[0]), elemsAt[T](out, 1))
		return nil
	}
}

// headAttentionGradConfig is the configuration of HeadAttentionGrad.
type headAttentionGradConfig struct {
	Layout kernel.Attention
}

func (headAttentionGradConfig) Operator() Name {
	return Name{Domain: Internal, Name: "HeadAttentionGrad"}
}

func headAttentionGradOp() *Op {
	return &Op{
		Domain: Internal, Name: "HeadAttentionGrad", Since: []int{1}, Doc: "Gradient of HeadAttention.",
		In: "dY T, Q T, K T, V T, P T", Out: "dQ T, dK T, dV T, dmask? T", Where: Where{"T": Floats}, Attrs: headAttentionGradConfig{},
		GradMissing: notTwice, Pinned: "gradient",
		Infer: func(c *Call) ([]Type, error) { return []Type{c.In[1], c.In[2], c.In[3], c.In[4]}, nil },
		Kernel: func(c *Call) (Kernel, error) {
			a := c.Config.(headAttentionGradConfig).Layout
			return perPrecision(c.In[0].DType, headsBack[float32](a), headsBack[float64](a)), nil
		},
		Cost: func(c *Call) (int64, int64) {
			a := c.Config.(headAttentionGradConfig).Layout
			return 2 * int64(c.In[4].Elements()) * int64(a.Depth+a.Width), c.moved()
		},
	}
}

func headsBack[T kernel.Float](a kernel.Attention) Kernel {
	return func(x *Exec, out, in []*tensor.Dense) error {
		kernel.AttentionBackward(pool(x), &a, elems[T](in[0]), elems[T](in[1]), elems[T](in[2]), elems[T](in[3]), elems[T](in[4]),
			elems[T](out[0]), elems[T](out[1]), elems[T](out[2]), elemsAt[T](out, 3))
		return nil
	}
}

func headAttentionGrad(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
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
