package std

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// MaxUnpoolConfig has the attributes of MaxUnpool: those of the MaxPool it undoes.
type MaxUnpoolConfig struct {
	Kernel  []int `onnx:"kernel_shape,required"` // size of the window, per spatial axis
	Pads    []int `onnx:"pads"`                  // elements added before each spatial axis, then after each; nil: 0
	Strides []int `onnx:"strides"`               // per spatial axis; nil: 1
}

// Operator makes MaxUnpoolConfig a Config.
func (MaxUnpoolConfig) Operator() op.Name { return op.Name{Name: "MaxUnpool"} }

func maxUnpool() *op.Op {
	return &op.Op{
		Name: "MaxUnpool", Since: []int{9, 11, 22}, Doc: "Puts the maxima of a MaxPool back where they came from, zeros elsewhere.",
		In: "X T1, I int64, output_shape? int64 shape", Out: "output T1", Where: op.Where{"T1": op.Floats()}, Attrs: MaxUnpoolConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			if c.In[0].Unranked {
				return op.Same(c)
			}
			_, out, err := unpooled(c)
			if err != nil {
				return []op.Type{c.In[0].With(anyDims(len(c.In[0].Shape))...)}, err
			}
			return convOutput(c, out)
		},
		Lower:  lowerMaxUnpool,
		Pinned: "the positions are numbers into the whole tensor",
	}
}

// unpooled returns the shape that the attributes give and the one that is asked for.
func unpooled(c *op.Call) (plain, out []op.Dim, err error) {
	cfg := c.Config.(MaxUnpoolConfig)
	space, err := spatialAxes(c)
	if err != nil {
		return nil, nil, err
	}
	n := len(space)
	if len(cfg.Kernel) != n {
		return nil, nil, c.Errorf("kernel_shape %v: want %d numbers", cfg.Kernel, n)
	}
	strides, err := perAxis(c, "strides", cfg.Strides, n)
	if err != nil {
		return nil, nil, err
	}
	pads, err := bothEnds(c, cfg.Pads, n)
	if err != nil {
		return nil, nil, err
	}
	plain = slices.Clone(c.In[0].Shape)
	for i, d := range space {
		if cfg.Kernel[i] < 1 || cfg.Kernel[i] > maxExtent {
			return nil, nil, c.Errorf("kernel_shape %v is out of range", cfg.Kernel)
		}
		plain[2+i] = d.Sub(op.D(1)).Mul(op.D(strides[i])).Add(op.D(cfg.Kernel[i] - pads[i] - pads[n+i]))
		if plain[2+i].Sym == "" && d.Known() && plain[2+i].Size < 0 {
			return nil, nil, c.Errorf("pads %v are larger than the output", cfg.Pads)
		}
	}
	if !c.Has(2) {
		return plain, plain, nil
	}
	if out, err = c.Dims(2); err != nil {
		return nil, nil, err
	}
	if err := noNegative(c, 2, out); err != nil {
		return nil, nil, err
	}
	if len(out) != len(plain) {
		return nil, nil, c.Errorf("output_shape has %d entries, X %d axes", len(out), len(plain))
	}
	for i, d := range out {
		if d.Known() && plain[i].Known() && d.Size < plain[i].Size {
			return nil, nil, c.Errorf("output_shape is smaller than %v on axis %d", plain[i], i)
		}
	}
	return plain, out, nil
}

func lowerMaxUnpool(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	plain, out, err := unpooled(c)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(op.Sizes(c.In[0].Shape), op.Sizes(c.In[1].Shape)) {
		return nil, c.Mismatch(1, c.In[0].Of(dtype.Int64), c.In[1])
	}
	b, t := composeOn(c, in), c.In[0].DType
	flat := op.Product(c.In[0].Shape)
	zeros := b.constant(dtype.New(t, op.Product(plain).Size), nil)
	y := b.do(ScatterElementsConfig{}, zeros, b.reshape(in[1], flat), b.reshape(in[0], flat))
	y = b.reshape(y, plain...)
	now := op.Sizes(plain)
	for a, d := range out {
		if more := d.Size - now[a]; more > 0 {
			s := slices.Clone(now)
			s[a] = more
			y = b.concat(a, y, b.constant(dtype.New(t, s...), nil))
			now[a] = d.Size
		}
	}
	return b.results(in, y)
}
