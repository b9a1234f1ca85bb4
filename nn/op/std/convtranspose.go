package std

import (
	"github.com/graft-ml/graft/internal/kernel/convolution"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
)

// ConvTransposeConfig has the attributes of ConvTranspose.
type ConvTransposeConfig struct {
	AutoPad       string `onnx:"auto_pad,default=NOTSET"` // NOTSET, VALID, SAME_UPPER or SAME_LOWER
	Dilations     []int  `onnx:"dilations"`               // of the kernel, per spatial axis; nil: 1
	Group         int    `onnx:"group,default=1"`         // groups of channels that are convolved separately
	Kernel        []int  `onnx:"kernel_shape"`            // spatial sizes of the kernel; nil: those of the weight
	OutputPadding []int  `onnx:"output_padding"`          // elements added at the end of each spatial axis of the output; nil: 0
	OutputShape   []int  `onnx:"output_shape"`            // spatial sizes of the output, from which the padding follows; nil: follow from the others
	Pads          []int  `onnx:"pads"`                    // elements added before each spatial axis, then after each; nil: 0
	Strides       []int  `onnx:"strides"`                 // per spatial axis; nil: 1
}

// Operator makes ConvTransposeConfig a Config.
func (ConvTransposeConfig) Operator() op.Name { return op.Name{Name: "ConvTranspose"} }

func convTranspose() *op.Op {
	return &op.Op{
		Name: "ConvTranspose", Since: []int{1, 11, 22},
		Doc: "Transposed convolution: what Conv does to gradients of its input.",
		In:  "X T, W T weight, B? T weight", Out: "Y T", Where: op.Where{"T": op.Floats()},
		Attrs: ConvTransposeConfig{},
		Infer: inferConvTranspose, Kernel: convTransposeKernel, Scheduling: op.Scheduling{Patterns: convTransposePatterns}, Grad: convTransposeGrad, Couple: coupleConvTranspose,
		Cost: func(c *op.Call) (int64, int64) {
			s, err := convTransposeShape(c)
			if err != nil {
				return 0, 0
			}
			return convMacs(s), bytesMoved(c)
		},
		Traits: convTransposeTraits(),
	}
}

func convTransposeTraits() op.Traits {
	t := convTraits(0, 1, func(c *op.Call) int { return c.Config.(ConvTransposeConfig).Group }, func(r *op.Resizing) error {
		cfg := r.Call.Config.(ConvTransposeConfig)
		cfg.Group = group(r.Out[0], r.In[1], cfg.Group)
		r.Config = cfg
		return nil
	})
	t = sliding(t, 1, func(c *ConvTransposeConfig) geometry {
		return geometry{&c.Kernel, &c.Strides, &c.Dilations, &c.Pads, &c.AutoPad}
	})
	window := t.Window
	t.Window = func(c *op.Call) *op.Window {
		w, cfg := window(c), c.Config.(ConvTransposeConfig)
		w.Transposed, w.OutputPadding, w.OutputLengths = true, cfg.OutputPadding, len(cfg.OutputShape) > 0
		return w
	}
	return t
}

// convTransposeWindow returns the geometry of the convolution from Y to X; its out is the shape of Y.
func convTransposeWindow(c *op.Call) (*window, error) {
	cfg := c.Config.(ConvTransposeConfig)
	in, err := spatialAxes(c)
	if err != nil {
		return nil, err
	}
	n := len(in)
	w := &window{known: true, out: make([]op.Dim, n), begin: make([]int, n), end: make([]int, n)}
	if w.kernel, err = convWeight(c, n, cfg.Kernel); err != nil {
		return nil, err
	}
	x, wt := c.In[0].Shape, c.In[1].Shape
	if x[1].Differ(wt[0]) {
		return nil, c.Errorf("X has %v channels, the weight %v", x[1], wt[0])
	}
	if err := convGroups(c, cfg.Group, wt[0]); err != nil {
		return nil, err
	}
	if err := channelVector(c, 2, wt[1].Mul(op.D(cfg.Group))); err != nil {
		return nil, err
	}
	if w.stride, err = perAxis(c, "strides", cfg.Strides, n); err != nil {
		return nil, err
	}
	if w.dilation, err = perAxis(c, "dilations", cfg.Dilations, n); err != nil {
		return nil, err
	}
	return w, transposedOut(c, w, in, cfg)
}

// transposedOut fills the output shape and the padding, either of which may decide the other.
func transposedOut(c *op.Call, w *window, in []op.Dim, cfg ConvTransposeConfig) error {
	n := len(in)
	extra, target := cfg.OutputPadding, cfg.OutputShape
	if len(extra) == 0 {
		extra = make([]int, n)
	}
	if len(target) == n+2 { // some exporters write batch and channels too
		target = target[2:]
	}
	if len(extra) != n || len(target) != 0 && len(target) != n {
		return c.Errorf("output_padding %v, output_shape %v: want %d numbers", extra, target, n)
	}
	pads, err := bothEnds(c, cfg.Pads, n)
	if err != nil {
		return err
	}
	same := cfg.AutoPad == "SAME_UPPER" || cfg.AutoPad == "SAME_LOWER"
	if cfg.AutoPad == "VALID" {
		pads = make([]int, 2*n)
	} else if !same && cfg.AutoPad != "NOTSET" && cfg.AutoPad != "" {
		return c.Errorf("auto_pad %q is unknown", cfg.AutoPad)
	}
	for i, d := range in {
		if extra[i] < 0 || extra[i] > maxExtent || len(target) > 0 && (target[i] < 1 || target[i] > maxExtent) {
			return c.Errorf("output_padding %v, output_shape %v are out of range", extra, target)
		}
		full := d.Sub(op.D(1)).Mul(op.D(w.stride[i])).Add(op.D(extra[i])).Add(w.extent(i))
		if e := w.extent(i); d.Known() && d.Size == 0 && e.Known() { // one less is not a length
			full = op.D(max(e.Size+extra[i]-w.stride[i], -1))
		}
		if d.Known() && w.kernel[i].Known() && !full.Known() { // below 0
			return c.Errorf("spatial axis %d has no output: X has %v elements, the kernel %v", i, d, w.kernel[i])
		}
		switch {
		case len(target) > 0:
			w.out[i] = op.D(target[i])
		case same:
			w.out[i] = d.Mul(op.D(w.stride[i]))
		default:
			w.begin[i], w.end[i] = pads[i], pads[n+i]
			w.out[i] = full.Sub(op.D(pads[i] + pads[n+i]))
			if full.Known() && w.out[i].Size < 1 {
				return c.Errorf("padding of spatial axis %d leaves no output (length %v before padding)", i, full)
			}
			continue
		}
		if !full.Known() || !w.out[i].Known() {
			w.known = false
			continue
		}
		total := max(full.Size-w.out[i].Size, 0)
		w.begin[i] = total - total/2
		if cfg.AutoPad == "SAME_UPPER" {
			w.begin[i] = total / 2
		}
		w.end[i] = total - w.begin[i]
	}
	return nil
}

func inferConvTranspose(c *op.Call) ([]op.Type, error) {
	w, err := convTransposeWindow(c)
	if err != nil {
		return nil, err
	}
	m := c.In[1].Shape[1].Mul(op.D(c.Config.(ConvTransposeConfig).Group))
	return convOutput(c, append([]op.Dim{c.In[0].Shape[0], m}, w.out...))
}

func convTransposeShape(c *op.Call) (convolution.Shape, error) {
	w, err := convTransposeWindow(c)
	if err != nil {
		return convolution.Shape{}, err
	}
	return w.shape(c.Out[0], c.In[0], c.Config.(ConvTransposeConfig).Group), nil
}

func convTransposeGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	s, err := convTransposeShape(c)
	if err != nil {
		return nil, err
	}
	dx, err := c.Apply1(convGradConfig{"ConvOf", s, c.In[0].Shape}, dout[0], in[1])
	if err != nil {
		return nil, err
	}
	dw, err := c.Apply1(convGradConfig{"ConvWeightGrad", s, c.In[1].Shape}, dout[0], in[0])
	if err != nil || len(in) < 3 || in[2] == nil {
		return gorgonia.Nodes{dx, dw}, err
	}
	db, err := c.Apply1(op.Name{Domain: op.Internal, Name: "ChannelSum"}, dout[0])
	return gorgonia.Nodes{dx, dw, db}, err
}

// coupleConvTranspose: channels of X are the weight's axis 0, its axis 1 those of Y within a group.
func coupleConvTranspose(c *op.Call) []coupling.Coupling {
	y, g := coupling.Out(0, 1), c.Config.(ConvTransposeConfig).Group
	list := []coupling.Coupling{op.Couple(coupling.In(0, 0), coupling.Out(0, 0)), op.Couple(coupling.In(0, 1), coupling.In(1, 0))}
	if c.Has(2) {
		list = append(list, op.Couple(coupling.In(2, 0), y))
	}
	return append(list, groupCouplings(c, y, coupling.In(1, 1), coupling.In(1, 0), g)...)
}
