package std

import (
	"errors"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// The gradients of convolutions and pools, written in standard operators.

// windows are the pads and counts of a convolution that are written down as numbers.
func (n formula) windows(of func(c *op.Call) [][]int) {
	n.Fixed("the padding", func(c *op.Call) []int { return slices.Concat(of(c)...) })
}

// spatialSizes reports the sizes of the axes of a type from the third on, and whether all are numbers.
func spatialSizes(t op.Type) ([]int, bool) {
	s := t.Shape[2:]
	return op.Sizes(s), !slices.ContainsFunc(s, op.Dim.Symbolic)
}

// spellConvDataGrad is a transposed convolution with the same weight.
func spellConvDataGrad(n formula) error {
	s := n.Config.(convGradConfig).Conv
	n.windows(func(c *op.Call) [][]int { s := c.Config.(convGradConfig).Conv; return [][]int{s.PadBegin, s.Kernel} })
	y := n.transposed(n.In[0], n.In[1], max(s.Group, 1), s.Stride, s.Dilation, s.PadBegin, s.Kernel)
	n.Give(0, y)
	return nil
}

// transposed scatters windows of dy into a tensor of the spatial sizes of output 0: a transposed convolution without
// padding, cut or extended to that.
func (n formula) transposed(dy, w *op.Operand, group int, stride, dilation, begin, kern []int) *op.Operand {
	cfg := ConvTransposeConfig{Group: group, Strides: stride, Dilations: dilation}
	to, fixed := spatialSizes(n.Out[0].Type)
	from, fixedFrom := spatialSizes(n.Call.In[0])
	uncovered := false // more elements at the end are outside all windows than a ConvTranspose can add
	for i := range to {
		full := (from[i]-1)*stride[i] + (kern[i]-1)*dilation[i] + 1
		uncovered = uncovered || to[i]+begin[i]-full >= max(stride[i], dilation[i])
	}
	if uncovered || !fixed || !fixedFrom || slices.ContainsFunc(n.In[0].Type.Shape[2:], op.Dim.Symbolic) {
		full := n.do(cfg, dy, w)
		ends := n.sub(n.ShapeOf(func(c *op.Call) []op.Dim { return c.Out[0].Shape[2:] }), n.after2(n.do(ShapeConfig{}, full)))
		begins := make([]int, len(begin))
		for i, b := range begin {
			begins[i] = -b
		}
		ends = n.add(ends, n.Vector("begin", begin...))
		pads := n.concat(0, n.Vector("pads", append([]int{0, 0}, begins...)...), n.Vector("pads", 0, 0), ends)
		return n.do(PadConfig{}, full, pads)
	}
	cfg.Pads = make([]int, 2*len(to))
	cfg.OutputPadding = make([]int, len(to))
	for i := range to {
		full := (from[i]-1)*stride[i] + (kern[i]-1)*dilation[i] + 1
		rest := full - begin[i] - to[i]
		cfg.Pads[i] = begin[i]
		if cfg.Pads[len(to)+i] = rest; rest < 0 {
			cfg.Pads[len(to)+i], cfg.OutputPadding[i] = 0, -rest
		}
	}
	return n.do(cfg, dy, w)
}

// after2 returns the elements of a vector from the third on.
func (n formula) after2(v *op.Operand) *op.Operand {
	return n.do(SliceConfig{}, v, n.Vector("starts", 2), n.Vector("ends", farEnd))
}

// spellConvWeightGrad is a convolution in which batch and channels change places, and stride and dilation too: each
// element of the weight is a sum over batch and space.
func spellConvWeightGrad(n formula) error {
	s := n.Config.(convGradConfig).Conv
	n.windows(func(c *op.Call) [][]int {
		s := c.Config.(convGradConfig).Conv
		return [][]int{s.PadBegin, s.PadEnd, s.Kernel, {s.C, s.OC}}
	})
	if d := n.convWeightByTaps(); d != nil {
		n.Give(0, d)
		return nil
	}
	x, dy, g := n.In[0], n.In[1], max(s.Group, 1)
	rank := n.rank(0)
	space := upTo(2, rank)
	if g == 1 {
		x = n.transpose(x, append([]int{1, 0}, space...)...)
		dy = n.transpose(dy, append([]int{1, 0}, space...)...)
	} else {
		grouped := func(i, channels int) func(c *op.Call) []op.Dim {
			return func(c *op.Call) []op.Dim {
				t := c.In[i].Shape
				return append([]op.Dim{t[0], op.D(g), op.D(channels / g)}, t[2:]...)
			}
		}
		deeper := upTo(3, rank+1)
		x = n.do(ReshapeConfig{}, x, n.ShapeOf(grouped(0, s.C)))
		x = n.transpose(x, append([]int{2, 1, 0}, deeper...)...)
		x = n.do(ReshapeConfig{}, x, n.ShapeOf(func(c *op.Call) []op.Dim {
			t := c.In[0].Shape
			return append([]op.Dim{op.D(s.C / g), op.D(g * t[0].Size)}, t[2:]...)
		}))
		dy = n.do(ReshapeConfig{}, dy, n.ShapeOf(grouped(1, s.OC)))
		dy = n.transpose(dy, append([]int{1, 2, 0}, deeper...)...)
		dy = n.do(ReshapeConfig{}, dy, n.ShapeOf(func(c *op.Call) []op.Dim {
			t := c.In[1].Shape
			return append([]op.Dim{op.D(s.OC), t[0]}, t[2:]...)
		}))
	}
	cfg := ConvConfig{Group: g, Strides: s.Dilation, Dilations: s.Stride, Pads: append(slices.Clone(s.PadBegin), s.PadEnd...)}
	dw := n.do(cfg, x, dy)
	ends := append([]int{}, s.Kernel...)
	dw = n.do(SliceConfig{}, dw, n.Vector("starts", make([]int, len(ends))...), n.Vector("ends", ends...), n.Vector("axes", space...))
	n.Give(0, n.transpose(dw, append([]int{1, 0}, space...)...))
	return nil
}

// spellConvOf is the convolution.
func spellConvOf(n formula) error {
	s := n.Config.(convGradConfig).Conv
	n.windows(func(c *op.Call) [][]int {
		s := c.Config.(convGradConfig).Conv
		return [][]int{s.PadBegin, s.PadEnd, s.Kernel, {s.C, s.OC}}
	})
	n.Give(0, n.do(ConvConfig{Group: max(s.Group, 1), Strides: s.Stride, Dilations: s.Dilation, Pads: append(slices.Clone(s.PadBegin), s.PadEnd...)}, n.In[0], n.In[1]))
	return nil
}

func spellChannelSum(n formula) error {
	n.Give(0, n.sum(n.In[0], false, append([]int{0}, upTo(2, n.rank(0))...)...))
	return nil
}

// exposeMaxPool: the hidden output becomes the positions of the maxima in the whole input.
func exposeMaxPool(n formula) error {
	cfg := n.Config.(MaxPoolConfig)
	if n.Wants(1) && cfg.StorageOrder == 1 {
		return errors.New("its indices are column-major (storage_order is 1)")
	}
	out := n.BeforeN("", 2, cfg, n.In[0])
	if n.Wants(1) {
		n.Give(1, n.do(op.Plain("Identity"), out[1]))
	}
	n.Give(2, out[1])
	n.Give(0, out[0])
	return nil
}

// exposeGlobalMaxPool counts positions as exposeMaxPool does.
func exposeGlobalMaxPool(n formula) error {
	flat := n.reshape(n.In[0], 0, 0, -1)
	at := n.do(ArgMaxConfig{Axis: 2}, flat)
	planes := func(c *op.Call) []op.Dim { return []op.Dim{op.D(c.In[0].Shape[0].Size * c.In[0].Shape[1].Size)} }
	scalar := func(v *op.Operand) *op.Operand { return n.do(ReshapeConfig{}, v, n.Vector("shape")) }
	zero, one := scalar(n.Vector("zero", 0)), scalar(n.Vector("one", 1))
	plane := n.do(op.Plain("Range"), zero, scalar(n.ShapeOf(planes)), one)
	plane = n.mul(plane, n.ShapeOf(func(c *op.Call) []op.Dim { return []op.Dim{op.D(dtype.Product(op.Sizes(c.In[0].Shape[2:])))} }))
	plane = n.do(ReshapeConfig{}, plane, n.do(ShapeConfig{}, at))
	n.Give(2, n.likeOut(n.add(at, plane), 2))
	n.Give(0, n.do(n.Config, n.In[0]))
	return nil
}

// spellMaxPoolGrad adds dy at the positions that exposeMaxPool computes.
func spellMaxPoolGrad(n formula) error {
	flat := func(x *op.Operand) *op.Operand { return n.reshape(x, -1) }
	total := n.ShapeOf(func(c *op.Call) []op.Dim { return []op.Dim{op.D(c.Out[0].Elements())} })
	zeros := n.zeros(n.In[0].Type.DType, total)
	n.Give(0, n.likeOut(n.do(ScatterElementsConfig{Reduction: "add"}, zeros, flat(n.In[1]), flat(n.In[0])), 0))
	return nil
}

// spellAveragePoolGrad spreads dy over its window, divided by the points of the window that count.
func spellAveragePoolGrad(n formula) error {
	p := n.Config.(poolGrad).Pool
	dy := n.In[0]
	if slices.Equal(p.Kernel, p.In) && dtype.Product(p.Out) == 1 && !slices.ContainsFunc(append(slices.Clone(p.PadBegin), p.PadEnd...), func(x int) bool { return x != 0 }) {
		t := n.Out[0].Type
		if space, fixed := spatialSizes(t); fixed {
			dy = n.times(dy, 1/float64(max(dtype.Product(space), 1)))
		} else {
			dy = n.div(dy, n.count(t.DType, func(c *op.Call) []op.Dim { return c.Out[0].Shape[2:] }))
		}
		n.Give(0, n.expand(dy, n.OutShape(0)))
		return nil
	}
	to, fixed := spatialSizes(n.Out[0].Type)
	if !fixed {
		return errors.New("the size of the pooled image is a symbol: fix it in the type of the model's input")
	}
	one, err := n.Filled("ones", n.Out[0].Type.DType, 1, append([]int{1, 1}, p.Kernel...)...)
	if err != nil {
		return err
	}
	counts, err := n.Filled("counts", n.Out[0].Type.DType, 1, append([]int{1, 1}, p.Out...)...)
	if err != nil {
		return err
	}
	fillCounts(n, counts, p.CountIncludePad, to, p.Out, p.Kernel, p.Stride, p.Dilation, p.PadBegin, p.PadEnd)
	dy = n.div(dy, counts)
	from := append([]int{-1, 1}, p.Out...)
	y := n.transposed(n.reshape(dy, from...), one, 1, p.Stride, p.Dilation, p.PadBegin, p.Kernel)
	n.Give(0, n.likeOut(y, 0))
	return nil
}

// fillCounts sets a constant to the number of points in each window that are counted.
func fillCounts(n formula, x *op.Operand, padded bool, in, out, kern, stride, dilation, begin, end []int) {
	d, err := n.constantOf(x)
	if err != nil {
		n.Err = errors.Join(n.Err, err)
		return
	}
	at := make([]int, len(out))
	for i := range d.Shape().TotalSize() {
		rest := i
		for a := len(out) - 1; a >= 0; a-- {
			at[a] = rest % out[a]
			rest /= out[a]
		}
		points := 1
		for a := range out {
			c := 0
			for k := range kern[a] {
				p := at[a]*stride[a] - begin[a] + k*dilation[a]
				if p >= 0 && p < in[a] || padded && p >= -begin[a] && p < in[a]+end[a] {
					c++
				}
			}
			points *= c
		}
		setFloat(d, i, float64(max(points, 1)))
	}
}
