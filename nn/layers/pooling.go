package layers

import "github.com/graft-ml/graft/nn"

// MaxPool computes the maximum of each window over the spatial axes of [N, C, spatial…].
type MaxPool struct {
	Kernel           []int  // size of the window along each spatial axis, or one number for all
	Stride, Dilation []int  // nil: Kernel and 1
	Pad              []int  // as in Conv
	Same             bool   // pad so that an axis of length n becomes ⌈n/stride⌉
	Ceil             bool   // round lengths of the output up rather than down
	Name             string // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (p MaxPool) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, w := pool(e, in, p.Kernel, p.Stride, p.Dilation, p.Pad, p.Same)
	if e.Err() != nil {
		return nil
	}
	a := w.attrs()
	if p.Ceil {
		a["ceil_mode"] = true
	}
	return []*nn.Value{put(e, e.Label("maxpool", p.Name), "MaxPool", a, x)}
}

// AvgPool computes the mean of each window over the spatial axes of [N, C, spatial…].
type AvgPool struct {
	Kernel       []int  // size of the window along each spatial axis, or one number for all
	Stride       []int  // nil: Kernel
	Pad          []int  // as in Conv
	Same         bool   // pad so that an axis of length n becomes ⌈n/stride⌉
	Ceil         bool   // round lengths of the output up rather than down
	CountPadding bool   // padding counts as zeros in the mean
	Name         string // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (p AvgPool) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, w := pool(e, in, p.Kernel, p.Stride, nil, p.Pad, p.Same)
	if e.Err() != nil {
		return nil
	}
	a := w.attrs()
	if p.Ceil {
		a["ceil_mode"] = true
	}
	if p.CountPadding {
		a["count_include_pad"] = true
	}
	return []*nn.Value{put(e, e.Label("avgpool", p.Name), "AveragePool", a, x)}
}

func pool(e *nn.Edit, in []*nn.Value, kernel, stride, dilation, pad []int, same bool) (*nn.Value, sliding) {
	x, rank := ranked(e, in, 3)
	if len(stride) == 0 {
		stride = kernel
	}
	return x, window(e, rank-2, kernel, stride, dilation, pad, same, false)
}

// GlobalAvgPool computes the mean over all spatial axes: [N, C, H, W] becomes [N, C, 1, 1].
type GlobalAvgPool struct{ Name string }

// Build adds the layer with in[0] as its input.
func (p GlobalAvgPool) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, _ := ranked(e, in, 3)
	return []*nn.Value{put(e, e.Label("pool", p.Name), "GlobalAveragePool", nil, x)}
}

// GlobalMaxPool computes the maximum over all spatial axes: [N, C, H, W] becomes [N, C, 1, 1].
type GlobalMaxPool struct{ Name string }

// Build adds the layer with in[0] as its input.
func (p GlobalMaxPool) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, _ := ranked(e, in, 3)
	return []*nn.Value{put(e, e.Label("pool", p.Name), "GlobalMaxPool", nil, x)}
}

// Mean computes the mean over axes and removes them.
type Mean struct {
	Axes []int  // negative ones count from the last
	Keep bool   // keep the axes, with length 1
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (m Mean) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x := only(e, in)
	if len(m.Axes) == 0 && e.Err() == nil {
		e.Failf("Axes is empty: want the axes to average over")
	}
	name := e.Label("mean", m.Name)
	return []*nn.Value{put(e, name, "ReduceMean", attrs{"keepdims": m.Keep}, x, e.Ints(name+".axes", m.Axes...))}
}
