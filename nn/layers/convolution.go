package layers

import (
	"cmp"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
)

// Conv is a convolution over [N, C, spatial…], with any number of spatial axes. Kernel, Stride, Dilation and Pad have one
// number for each spatial axis, or one for all.
type Conv struct {
	Out              int            // output channels; 0: as many as the input has
	Kernel           []int          // size along each spatial axis, or one number for all
	Stride, Dilation []int          // nil: 1
	Pad              []int          // nil: none; twice as many numbers as axes: padding at the beginning of each axis, then at the end of each
	Same             bool           // pad so that an axis of length n becomes ⌈n/stride⌉; an odd element is added at the end
	Group            int            // 0: 1
	NoBias           bool           // the layer has no bias
	Init, BiasInit   initial.Filler // nil: uniform in ±1/√fan-in, as in PyTorch
	Name             string         // of its nodes and parameters; "": one is made

	lead bool // the odd element of Same at the begin: where Dirac expects it
}

// Identity returns the layer with a kernel that copies its input, padded to keep its size unless Pad is set. Out must be
// 0 or the number of input channels, and the stride 1.
func (c Conv) Identity() nn.Layer {
	c.Init, c.BiasInit, c.lead = initial.Dirac{Groups: c.Group}, initial.Zeros{}, true
	c.Same = c.Same || len(c.Pad) == 0
	return c
}

// Silence returns the layer with a weight of zeros.
func (c Conv) Silence() nn.Layer {
	c.Init, c.BiasInit = initial.Zeros{}, initial.Zeros{}
	return c
}

// Fit returns the layer with the given number of channels and padding that keeps the spatial axes, unless it sets these
// itself.
func (c Conv) Fit(channels int) nn.Layer {
	c.Out = cmp.Or(c.Out, channels)
	c.Same = c.Same || len(c.Pad) == 0
	return c
}

// Mirror returns a convolution like this one, followed by one with kernel size 1, for a value of at least two axes. See
// nn.Projection.
func (c Conv) Mirror(at *nn.Value, scale, gain float64) (first, second nn.Layer) {
	channels, groups := sizeAt(at, 1), max(c.Group, 1)
	back := Conv{Out: channels, Kernel: []int{1}, Group: c.Group, NoBias: c.NoBias, Init: mirror{groups, gain, false}, BiasInit: initial.Zeros{}}
	c.Out, c.Init, c.BiasInit, c.lead = 2*channels, mirror{groups, scale, true}, initial.Zeros{}, true
	c.Same = c.Same || len(c.Pad) == 0
	return c, back
}

// Build adds the layer with in[0] as its input.
func (c Conv) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, rank := ranked(e, in, 3)
	channels := sizeOf(e, x, 1)
	w := window(e, rank-2, c.Kernel, c.Stride, c.Dilation, c.Pad, c.Same, c.lead)
	if e.Err() != nil {
		return nil
	}
	out, group := grouped(e, channels, c.Out, c.Group)
	if e.Err() != nil {
		return nil
	}
	name, a := e.Label("conv", c.Name), w.attrs()
	if group > 1 {
		a["group"] = group
	}
	k := kernels{[]int{out, channels / group}, w.kernel, out, c.NoBias, c.Init, c.BiasInit}
	list := append([]*nn.Value{x}, k.weights(e, name, x)...)
	return []*nn.Value{put(e, name, "Conv", a, list...)}
}

// ConvTranspose is the transpose of a convolution, often used for upsampling: an axis of length n becomes (n−1)·stride +
// dilation·(kernel−1) + 1 + OutPad − padding.
type ConvTranspose struct {
	Out              int            // output channels; 0: as many as the input has
	Kernel           []int          // size along each spatial axis, or one number for all
	Stride, Dilation []int          // nil: 1
	Pad, OutPad      []int          // nil: none
	Group            int            // 0: 1
	NoBias           bool           // the layer has no bias
	Init, BiasInit   initial.Filler // nil: as in PyTorch
	Name             string         // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (c ConvTranspose) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, rank := ranked(e, in, 3)
	channels := sizeOf(e, x, 1)
	w := window(e, rank-2, c.Kernel, c.Stride, c.Dilation, c.Pad, false, false)
	extra := perAxis(e, "output padding", c.OutPad, rank-2, 0, 0)
	if e.Err() != nil {
		return nil
	}
	out, group := grouped(e, channels, c.Out, c.Group)
	if e.Err() != nil {
		return nil
	}
	name, a := e.Label("convtranspose", c.Name), w.attrs()
	if group > 1 {
		a["group"] = group
	}
	k := kernels{[]int{channels, out / group}, w.kernel, out, c.NoBias, c.Init, c.BiasInit}
	list := append([]*nn.Value{x}, k.weights(e, name, x)...)
	if len(c.OutPad) > 0 {
		a["output_padding"] = extra
	}
	return []*nn.Value{put(e, name, "ConvTranspose", a, list...)}
}

// grouped checks the numbers of channels and groups of a convolution; 0 output channels mean as many as the
// input has, 0 groups one.
func grouped(e *nn.Edit, channels, out, group int) (int, int) {
	group = max(group, 1)
	if out == 0 {
		out = channels
	}
	if channels%group != 0 || out%group != 0 {
		e.Failf("%d groups do not divide %d input and %d output channels", group, channels, out)
	}
	return out, group
}

// kernels are the weights of a convolution: two lengths of channels before those of the window, and a bias of
// out elements unless there is none.
type kernels struct {
	channels, window []int
	out              int
	noBias           bool
	init, biasInit   initial.Filler
}

// weights adds the parameters name.weight and name.bias, of x's element type.
func (k kernels) weights(e *nn.Edit, name string, x *nn.Value) []*nn.Value {
	shape := slices.Concat(k.channels, k.window)
	list := []*nn.Value{weight(e, name+".weight", x, k.init, initial.FanIn{}, shape...)}
	if !k.noBias {
		fan := 1
		for _, d := range shape[1:] {
			fan *= d
		}
		list = append(list, weight(e, name+".bias", x, k.biasInit, initial.BiasFanIn{Fan: fan}, k.out))
	}
	return list
}

// sliding is a window that slides over spatial axes.
type sliding struct{ kernel, strides, dilations, pads []int }

// window checks the settings of a convolution or a pool over the given number of spatial axes.
func window(e *nn.Edit, axes int, kernel, stride, dilation, pad []int, same, lead bool) sliding {
	if e.Err() != nil {
		return sliding{}
	}
	if len(kernel) == 0 {
		e.Failf("has no kernel size")
		return sliding{}
	}
	w := sliding{
		kernel: perAxis(e, "kernel", kernel, axes, 1, 1), strides: perAxis(e, "stride", stride, axes, 1, 1),
		dilations: perAxis(e, "dilation", dilation, axes, 1, 1),
	}
	switch {
	case e.Err() != nil:
	case same && len(pad) > 0:
		e.Failf("pad %v: Same chooses the padding", pad)
	case same:
		begin, end := make([]int, axes), make([]int, axes)
		for i := range axes {
			total := w.dilations[i] * (w.kernel[i] - 1)
			begin[i], end[i] = total/2, total-total/2
			if lead {
				begin[i] = w.dilations[i] * (w.kernel[i] / 2)
				end[i] = total - begin[i]
			}
		}
		w.pads = append(begin, end...)
	case len(pad) == 2*axes && axes > 0:
		w.pads = perAxis(e, "pad", pad, 2*axes, 0, 0)
	default:
		p := perAxis(e, "pad", pad, axes, 0, 0)
		w.pads = append(append([]int(nil), p...), p...)
	}
	return w
}

// attrs returns the window's attributes, those that say nothing left out.
func (w sliding) attrs() attrs {
	a := attrs{"kernel_shape": w.kernel}
	for name, s := range map[string]struct {
		list []int
		def  int
	}{"strides": {w.strides, 1}, "dilations": {w.dilations, 1}, "pads": {w.pads, 0}} {
		for _, n := range s.list {
			if n != s.def {
				a[name] = s.list
			}
		}
	}
	return a
}
