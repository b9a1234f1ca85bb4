package std

import (
	"github.com/graft-ml/graft/internal/kernel/convolution"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
)

// ConvConfig has the attributes of Conv.
type ConvConfig struct {
	AutoPad   string `onnx:"auto_pad,default=NOTSET"` // NOTSET, VALID, SAME_UPPER or SAME_LOWER
	Dilations []int  `onnx:"dilations"`               // of the kernel, per spatial axis; nil: 1
	Group     int    `onnx:"group,default=1"`         // groups of channels that are convolved separately
	Kernel    []int  `onnx:"kernel_shape"`            // spatial sizes of the kernel; nil: those of the weight
	Pads      []int  `onnx:"pads"`                    // elements added before each spatial axis, then after each; nil: 0
	Strides   []int  `onnx:"strides"`                 // per spatial axis; nil: 1
}

// Operator makes ConvConfig a Config.
func (ConvConfig) Operator() op.Name { return op.Name{Name: "Conv"} }

func conv() *op.Op {
	return &op.Op{
		Name: "Conv", Since: []int{1, 11, 22},
		Doc: "Convolution over one to three spatial axes, channels in groups.",
		In:  "X T, W T weight, B? T weight", Out: "Y T", Where: op.Where{"T": op.Floats()},
		Attrs: ConvConfig{},
		Infer: inferConv, Kernel: convKernel, Scheduling: op.Scheduling{Patterns: convPatterns}, Grad: convGrad, Couple: coupleConv, Cost: convCost,
		Traits: sliding(convTraits(1, 0, func(c *op.Call) int { return c.Config.(ConvConfig).Group }, func(r *op.Resizing) error {
			cfg := r.Call.Config.(ConvConfig)
			cfg.Group = group(r.In[0], r.In[1], cfg.Group)
			r.Config = cfg
			return nil
		}), 1, func(c *ConvConfig) geometry {
			return geometry{&c.Kernel, &c.Strides, &c.Dilations, &c.Pads, &c.AutoPad}
		}),
	}
}

// convWindow returns the geometry of the call, and a check of everything else.
func convWindow(c *op.Call) (*window, error) {
	cfg := c.Config.(ConvConfig)
	in, err := spatialAxes(c)
	if err != nil {
		return nil, err
	}
	kern, err := convWeight(c, len(in), cfg.Kernel)
	if err != nil {
		return nil, err
	}
	x, w := c.In[0].Shape, c.In[1].Shape
	if err := convGroups(c, cfg.Group, w[0]); err != nil {
		return nil, err
	}
	if x[1].Differ(w[1].Mul(op.D(cfg.Group))) {
		return nil, c.Mismatch(0, op.T(c.In[0].DType, x[0], w[1].Mul(op.D(cfg.Group))).String()+" and spatial axes", c.In[0])
	}
	if err := channelVector(c, 2, w[0]); err != nil {
		return nil, err
	}
	return windows(c, in, kern, cfg.Strides, cfg.Dilations, cfg.Pads, cfg.AutoPad, false)
}

// convWeight returns the kernel shape from weight and attribute, which must agree.
func convWeight(c *op.Call, spatial int, attr []int) ([]op.Dim, error) {
	rank, err := c.Rank(1)
	if err != nil {
		return nil, err
	}
	if rank != spatial+2 {
		return nil, c.Mismatch(1, "as many axes as X has", c.In[1])
	}
	kern := append([]op.Dim(nil), c.In[1].Shape[2:]...)
	if len(attr) == 0 {
		return kern, nil
	}
	if len(attr) != spatial {
		return nil, c.Errorf("kernel_shape %v: want %d numbers", attr, spatial)
	}
	for i := range kern {
		var ok bool
		if kern[i], ok = kern[i].Merge(op.D(attr[i])); !ok || attr[i] < 0 {
			return nil, c.Errorf("kernel_shape is %v, the weight %v", attr, c.In[1])
		}
	}
	return kern, nil
}

func convGroups(c *op.Call, n int, channels op.Dim) error {
	if n < 1 || channels.Known() && channels.Size%n != 0 {
		return c.Errorf("group %d does not divide %v channels", n, channels)
	}
	return nil
}

// channelVector checks that input i, if there, is a vector of n elements.
func channelVector(c *op.Call, i int, n op.Dim) error {
	if !c.Has(i) || c.In[i].Unranked {
		return nil
	}
	if len(c.In[i].Shape) != 1 || c.In[i].Shape[0].Differ(n) {
		return c.Mismatch(i, op.T(c.In[i].DType, n), c.In[i])
	}
	return nil
}

func inferConv(c *op.Call) ([]op.Type, error) {
	w, err := convWindow(c)
	if err != nil {
		return nil, err
	}
	return convOutput(c, append([]op.Dim{c.In[0].Shape[0], c.In[1].Shape[0]}, w.out...))
}

// convOutput returns the result of an Infer with one output of input 0's element type. It refuses shapes
// whose number of elements does not fit.
func convOutput(c *op.Call, shape []op.Dim) ([]op.Type, error) {
	n := 1
	for _, d := range shape {
		if !d.Known() {
			continue
		}
		if d.Size > 0 && n > op.MaxElements/d.Size {
			return nil, c.Errorf("output of shape %v is too large", op.T(c.In[0].DType, shape...))
		}
		n *= d.Size
	}
	return []op.Type{c.In[0].With(shape...)}, nil
}

// shape returns the geometry for package kernel; x and y are the smaller-stride and the strided side.
func (w *window) shape(x, y op.Type, group int) convolution.Shape {
	return convolution.Shape{
		N: x.Shape[0].Size, C: x.Shape[1].Size, OC: y.Shape[1].Size, Group: group,
		In: op.Sizes(x.Shape[2:]), Kernel: op.Sizes(w.kernel), Out: op.Sizes(y.Shape[2:]),
		Stride: w.stride, Dilation: w.dilation, PadBegin: w.begin, PadEnd: w.end,
	}
}

func convShape(c *op.Call) (convolution.Shape, error) {
	w, err := convWindow(c)
	if err != nil {
		return convolution.Shape{}, err
	}
	return w.shape(c.In[0], c.Out[0], c.Config.(ConvConfig).Group), nil
}

func convGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	s, err := convShape(c)
	if err != nil {
		return nil, err
	}
	dx, err := c.Apply1(convGradConfig{"ConvDataGrad", s, c.In[0].Shape}, dout[0], in[1])
	if err != nil {
		return nil, err
	}
	dw, err := c.Apply1(convGradConfig{"ConvWeightGrad", s, c.In[1].Shape}, in[0], dout[0])
	if err != nil || len(in) < 3 || in[2] == nil {
		return gorgonia.Nodes{dx, dw}, err
	}
	db, err := c.Apply1(op.Name{Domain: op.Internal, Name: "ChannelSum"}, dout[0])
	return gorgonia.Nodes{dx, dw, db}, err
}

// coupleConv: channels of X are the weight's axis 1, its axis 0 the channels of Y. With groups
// both sides fall into as many blocks, and axis 1 is one block of X's channels.
func coupleConv(c *op.Call) []coupling.Coupling {
	x, w, b, y := coupling.In(0, 1), coupling.In(1, 1), coupling.In(2, 0), coupling.Out(0, 1)
	list := []coupling.Coupling{op.Couple(coupling.In(0, 0), coupling.Out(0, 0)), op.Couple(coupling.In(1, 0), y)}
	if c.Has(2) {
		list = append(list, op.Couple(b, y))
	}
	return append(list, groupCouplings(c, x, w, coupling.In(1, 0), c.Config.(ConvConfig).Group)...)
}

// groupCouplings ties x, channels that fall into groups, to the weight axis within, of one group's
// length, and to the weight axis across that holds the groups of the other side.
func groupCouplings(c *op.Call, x, within, across coupling.Axis, groups int) []coupling.Coupling {
	if groups == 1 {
		return []coupling.Coupling{op.Couple(x, within)}
	}
	w := c.In[1].Shape
	if w[within.Axis].Size == 1 { // depthwise: channel i and block i leave together
		return []coupling.Coupling{{From: x, To: across, Map: coupling.Map{Relation: coupling.Factor, Outer: 1, Inner: w[across.Axis].Size / groups}}}
	}
	by := coupling.Map{Relation: coupling.Group, Groups: groups}
	return []coupling.Coupling{{From: x, To: within, Map: by}, {From: x, To: across, Map: by}}
}

func convCost(c *op.Call) (macs, bytes int64) {
	macs = int64(c.Out[0].Elements())
	for _, d := range c.In[1].Shape[1:] {
		macs *= int64(d.Size)
	}
	return macs, bytesMoved(c)
}

// bytesMoved returns the bytes of inputs and formal outputs, each once.
func bytesMoved(c *op.Call) (n int64) {
	for _, t := range c.In {
		if t.Present() {
			n += int64(t.Elements()) * int64(t.DType.Size())
		}
	}
	for _, t := range c.Out[:min(c.Outputs, len(c.Out))] {
		if t.Present() {
			n += int64(t.Elements()) * int64(t.DType.Size())
		}
	}
	return n
}

// convTraits returns those of convolutions whose weight is summed over one axis and computes channels along another.
func convTraits(in, out int, groups func(c *op.Call) int, resize func(r *op.Resizing) error) op.Traits {
	return op.Traits{
		Zero: op.ZeroLayer, Trains: trainsImage, Layout: trait.ChannelsFirst, Starts: []trait.Start{trait.StartRandom, trait.StartRandom, trait.StartZero},
		WeightedSums: func(c *op.Call) []trait.WeightedSum {
			return []trait.WeightedSum{{Weight: 1, Bias: 2, In: in, Out: out, Groups: groups(c)}}
		},
		Resize: resize,
	}
}
