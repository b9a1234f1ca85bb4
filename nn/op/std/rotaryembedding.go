package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// RotaryEmbeddingConfig has the attributes of RotaryEmbedding.
type RotaryEmbeddingConfig struct {
	Interleaved bool `onnx:"interleaved"`                    // rotate pairs of adjacent elements instead of those half the rotated width apart
	NumHeads    int  `onnx:"num_heads,default=0"`            // heads of the input, if it has rank 3
	RotaryDim   int  `onnx:"rotary_embedding_dim,default=0"` // leading elements of each head that are rotated; 0: all
}

// Operator makes RotaryEmbeddingConfig a Config.
func (RotaryEmbeddingConfig) Operator() op.Name { return op.Name{Name: "RotaryEmbedding"} }

func rotaryEmbedding() *op.Op {
	return &op.Op{
		Name: "RotaryEmbedding", Since: []int{23}, Doc: "Turns pairs of elements of each head by angles that depend on the position.",
		In: "X T, cos_cache T, sin_cache T, position_ids? int64", Out: "Y T", Where: op.Where{"T": op.Floats()},
		Attrs: RotaryEmbeddingConfig{}, Lower: lowerRotary,
		Infer: func(c *op.Call) ([]op.Type, error) {
			if c.In[0].Unranked || c.In[1].Unranked {
				return op.Same(c)
			}
			_, err := rotaryOf(c)
			return []op.Type{c.In[0]}, err
		},
		// A pair leaves with its angle, a head with the attribute: only batch and sequence are free.
		Pinned: "each pair of elements of a head has its own frequency",
	}
}

// rotary is the geometry: the shape of X with the elements of the head last, and the shape to which the
// caches broadcast.
type rotary struct {
	Shape, Cache []op.Dim
	turning      int // elements of a head
	rest         int
}

func rotaryOf(c *op.Call) (r rotary, err error) {
	cfg := c.Config.(RotaryEmbeddingConfig)
	x := c.In[0].Shape
	var batch, seq op.Dim
	switch len(x) {
	case 4:
		r.Shape = x
		batch, seq = x[0], x[2]
	case 3:
		if cfg.NumHeads < 1 {
			return r, c.Errorf("num_heads is needed for an input of rank 3")
		}
		size := x[2].Div(op.D(cfg.NumHeads))
		if size.Mul(op.D(cfg.NumHeads)).Differ(x[2]) {
			return r, c.Errorf("cannot cut %v into %d heads", c.In[0], cfg.NumHeads)
		}
		batch, seq = x[0], x[1]
		r.Shape = []op.Dim{batch, seq, op.D(cfg.NumHeads), size}
	default:
		return r, c.Mismatch(0, "rank 3 or 4", c.In[0])
	}
	size := r.Shape[3]
	if cfg.RotaryDim < 0 || size.Known() && cfg.RotaryDim > size.Size {
		return r, c.Errorf("rotary_embedding_dim is %d, a head has %v elements", cfg.RotaryDim, size)
	}
	if r.turning = cfg.RotaryDim; r.turning == 0 {
		r.turning = size.Size
	}
	r.rest = size.Size - r.turning
	if size.Known() && r.turning%2 != 0 {
		return r, c.Errorf("cannot rotate %d elements: the number is odd", r.turning)
	}
	want := []op.Dim{batch, seq, op.D(r.turning / 2)}
	if c.Has(3) {
		want = []op.Dim{op.Unknown(), op.D(r.turning / 2)}
		if p := c.In[3]; !p.Unranked && (len(p.Shape) != 2 || p.Shape[0].Differ(batch) || p.Shape[1].Differ(seq)) {
			return r, c.Mismatch(3, op.T(dtype.Int64, batch, seq), p)
		}
	}
	for i := 1; i < 3; i++ {
		s := c.In[i].Shape
		bad := len(s) != len(want)
		for a := range min(len(s), len(want)) {
			bad = bad || size.Known() && s[a].Differ(want[a])
		}
		if bad {
			return r, c.Mismatch(i, op.T(c.In[0].DType, want...), c.In[i])
		}
	}
	r.Cache = []op.Dim{batch, op.D(1), seq, op.D(r.turning / 2)}
	if len(x) == 3 {
		r.Cache[1], r.Cache[2] = seq, op.D(1)
	}
	return r, nil
}

func lowerRotary(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	r, err := rotaryOf(c)
	if err != nil {
		return nil, err
	}
	b, cfg := composeOn(c, in), c.Config.(RotaryEmbeddingConfig)
	cos, sin := in[1], in[2]
	if c.Has(3) {
		cos, sin = b.do(GatherConfig{}, cos, in[3]), b.do(GatherConfig{}, sin, in[3])
	}
	cos, sin = b.reshape(cos, r.Cache...), b.reshape(sin, r.Cache...)
	x := b.reshape(in[0], r.Shape...)
	var rest *gorgonia.Node
	if r.rest > 0 {
		parts := b.split(x, 3, r.turning, r.rest)
		x, rest = parts[0], parts[1]
	}
	half := op.D(r.turning / 2)
	var first, second *gorgonia.Node
	lead := r.Shape[:3:3]
	if cfg.Interleaved {
		pairs := b.split(b.reshape(x, append(lead, half, op.D(2))...), 4, 1, 1)
		first, second = b.reshape(pairs[0], append(lead, half)...), b.reshape(pairs[1], append(lead, half)...)
	} else {
		halves := b.split(x, 3, half.Size, half.Size)
		first, second = halves[0], halves[1]
	}
	mul := func(a, f *gorgonia.Node) *gorgonia.Node { return b.do(op.Plain("Mul"), a, f) }
	re := b.do(op.Plain("Sub"), mul(first, cos), mul(second, sin))
	im := b.do(op.Plain("Add"), mul(first, sin), mul(second, cos))
	var y *gorgonia.Node
	if cfg.Interleaved {
		y = b.concat(4, b.reshape(re, append(lead, half, op.D(1))...), b.reshape(im, append(lead, half, op.D(1))...))
		y = b.reshape(y, append(lead, op.D(r.turning))...)
	} else {
		y = b.concat(3, re, im)
	}
	if rest != nil {
		y = b.concat(3, y, rest)
	}
	return b.results(in, b.reshape(y, c.In[0].Shape...))
}
