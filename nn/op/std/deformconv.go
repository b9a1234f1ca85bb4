package std

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
)

// DeformConvConfig has the attributes of DeformConv.
type DeformConvConfig struct {
	Dilations   []int `onnx:"dilations"`              // of the kernel, per spatial axis; nil: 1
	Group       int   `onnx:"group,default=1"`        // groups of channels that are convolved separately
	Kernel      []int `onnx:"kernel_shape"`           // spatial sizes of the kernel; nil: those of the weight
	OffsetGroup int   `onnx:"offset_group,default=1"` // groups of input channels, each with its own offsets
	Pads        []int `onnx:"pads"`                   // elements added before each spatial axis, then after each; nil: 0
	Strides     []int `onnx:"strides"`                // per spatial axis; nil: 1
}

// Operator makes DeformConvConfig a Config.
func (DeformConvConfig) Operator() op.Name { return op.Name{Name: "DeformConv"} }

func deformConv() *op.Op {
	return &op.Op{
		Name: "DeformConv", Since: []int{19, 22}, Doc: "Convolution whose points are moved by offsets that are an input.",
		In: "X T, W T weight, offset T, B? T weight, mask? T", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: DeformConvConfig{},
		Infer: inferDeformConv, Lower: lowerDeformConv,
		Couple: func(c *op.Call) []coupling.Coupling {
			cfg := c.Config.(DeformConvConfig)
			if cfg.Group != 1 {
				return nil
			}
			list := []coupling.Coupling{op.Couple(coupling.In(1, 0), coupling.Out(0, 1))}
			if c.Has(3) {
				list = append(list, op.Couple(coupling.In(3, 0), coupling.Out(0, 1)))
			}
			if cfg.OffsetGroup == 1 {
				list = append(list, op.Couple(coupling.In(0, 1), coupling.In(1, 1)))
			}
			return list
		},
		Cost: func(c *op.Call) (int64, int64) {
			w := c.In[1].Sizes()
			return int64(c.Out[0].Elements()) * int64(dtype.Product(w[1:])), bytesMoved(c)
		},
	}
}

func inferDeformConv(c *op.Call) ([]op.Type, error) {
	if c.In[0].Unranked || c.In[1].Unranked {
		return []op.Type{c.In[0]}, nil
	}
	w, err := deformWindow(c)
	if err != nil {
		return nil, err
	}
	return convOutput(c, append([]op.Dim{c.In[0].Shape[0], c.In[1].Shape[0]}, w.out...))
}

// deformWindow returns the geometry of the convolution without offsets.
func deformWindow(c *op.Call) (*window, error) {
	cfg := c.Config.(DeformConvConfig)
	if len(c.In[0].Shape) != 4 {
		return nil, c.Mismatch(0, "batch, channels and two spatial axes", c.In[0])
	}
	plain := *c
	plain.Config = ConvConfig{Dilations: cfg.Dilations, Group: cfg.Group, Kernel: cfg.Kernel, Pads: cfg.Pads, Strides: cfg.Strides}
	plain.In = []op.Type{c.In[0], c.In[1], {}}
	if c.Has(3) {
		plain.In[2] = c.In[3]
	}
	w, err := convWindow(&plain)
	if err != nil {
		return nil, err
	}
	if err := convGroups(c, cfg.OffsetGroup, c.In[0].Shape[1]); err != nil {
		return nil, err
	}
	points := w.kernel[0].Mul(w.kernel[1]).Mul(op.D(cfg.OffsetGroup))
	for _, k := range []struct {
		i int
		n op.Dim
	}{{2, points.Mul(op.D(2))}, {4, points}} {
		if !c.Has(k.i) || c.In[k.i].Unranked {
			continue
		}
		s := c.In[k.i].Shape
		if len(s) != 4 || s[0].Differ(c.In[0].Shape[0]) || s[1].Differ(k.n) || s[2].Differ(w.out[0]) || s[3].Differ(w.out[1]) {
			return nil, c.Mismatch(k.i, op.T(c.In[0].DType, c.In[0].Shape[0], k.n, w.out[0], w.out[1]), c.In[k.i])
		}
	}
	return w, nil
}

// lowerDeformConv samples the image where the moved kernel points are, then multiplies as a
// convolution by matrices does. Types of 16 bits are computed in float32: they cannot hold positions in large images.
func lowerDeformConv(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	cfg := c.Config.(DeformConvConfig)
	w, err := deformWindow(c)
	if err != nil {
		return nil, err
	}
	b, t, x := composeOn(c, in), wide(c.In[0].DType), c.In[0].Shape
	given := in
	in = slices.Clone(in)
	for i, n := range in {
		if n != nil {
			in[i] = b.cast(n, t)
		}
	}
	og, g := op.D(cfg.OffsetGroup), op.D(cfg.Group)
	n, ch, oc := x[0].Mul(og), x[1], c.In[1].Shape[0]
	kn, points := w.kernel[0].Mul(w.kernel[1]), w.out[0].Mul(w.out[1])
	images := b.reshape(in[0], n, ch.Div(og), x[2], x[3])
	grid := b.transpose(b.reshape(in[2], n, kn, op.D(2), points), 0, 1, 3, 2)
	base := b.do(op.Plain("Add"), // where the points of the kernel are, from those of the output
		b.constant(dtype.FromFloats(t, positions(w.kernel, w.dilation, []int{0, 0}), kn.Size, 1, 2)),
		b.constant(dtype.FromFloats(t, positions(w.out, w.stride, w.begin), points.Size, 2)))
	// Positions in pixels, then between −1 and 1, x first.
	h, wd := float64(x[2].Size), float64(x[3].Size)
	grid = b.do(op.Plain("Mul"), b.do(op.Plain("Add"), grid, base), b.constant(dtype.FromFloats(t, []float64{2 / h, 2 / wd}, 2)))
	grid = b.do(op.Plain("Add"), grid, b.constant(dtype.FromFloats(t, []float64{1/h - 1, 1/wd - 1}, 2)))
	yx := b.split(grid, 3, 1, 1)
	grid = b.concat(3, yx[1], yx[0])
	columns := b.do(GridSampleConfig{}, images, grid)
	if c.Has(4) {
		columns = b.do(op.Plain("Mul"), columns, b.reshape(in[4], n, op.D(1), kn, points))
	}
	columns = b.reshape(columns, x[0], g, ch.Div(g).Mul(kn), points)
	weight := b.reshape(in[1], g, oc.Div(g), ch.Div(g).Mul(kn))
	y := b.reshape(b.do(op.Plain("MatMul"), weight, columns), c.Out[0].Shape...)
	if c.Has(3) {
		y = b.do(op.Plain("Add"), y, b.reshape(in[3], oc, op.D(1), op.D(1)))
	}
	return b.results(given, b.cast(y, c.In[0].DType))
}

// positions are step·(y, x) − begin for all y and x of two axes.
func positions(axes []op.Dim, step, begin []int) []float64 {
	v := make([]float64, 0, 2*axes[0].Size*axes[1].Size)
	for y := range axes[0].Size {
		for x := range axes[1].Size {
			v = append(v, float64(y*step[0]-begin[0]), float64(x*step[1]-begin[1]))
		}
	}
	return v
}
