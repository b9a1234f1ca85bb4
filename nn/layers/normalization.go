package layers

import (
	"cmp"
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
)

// BatchNorm normalizes each channel (axis 1), then multiplies it by a trained scale and adds a trained bias (Ioffe and
// Szegedy, 2015). In training it uses mean and variance of the batch, otherwise their running averages.
type BatchNorm struct {
	Eps      float64 // 0: 1e-5
	Momentum float64 // fraction of the running average that a step keeps, as in ONNX (1 minus PyTorch's momentum); 0: 0.9
	Name     string  // of its nodes and parameters; "": one is made

	identity bool
}

// Identity returns the layer with a scale of √(1+Eps), which makes it the identity when evaluating.
func (b BatchNorm) Identity() nn.Layer {
	b.identity = true
	return b
}

// Build adds the layer with in[0] as its input.
func (b BatchNorm) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, _ := ranked(e, in, 2)
	c := sizeOf(e, x, 1)
	if e.Err() != nil {
		return nil
	}
	eps, momentum := epsilon(e, b.Eps), cmp.Or(b.Momentum, 0.9)
	if !(momentum >= 0 && momentum <= 1) {
		e.Failf("Momentum is %v: want a fraction from 0 to 1", momentum)
	}
	scale := initial.Filler(initial.Ones{})
	if b.identity {
		scale = initial.Full{Value: math.Sqrt(1 + float64(float32(eps)))}
	}
	name := e.Label("batchnorm", b.Name)
	return []*nn.Value{put(e, name, "BatchNormalization", attrs{"epsilon": eps, "momentum": momentum}, x,
		weight(e, name+".weight", x, scale, nil, c), weight(e, name+".bias", x, initial.Zeros{}, nil, c),
		weight(e, name+".running_mean", x, initial.Zeros{}, nil, c), weight(e, name+".running_var", x, initial.Ones{}, nil, c))}
}

// LayerNorm normalizes each sample over the last axes, then multiplies every element by a trained scale and adds a
// trained bias (Ba and others, 2016).
type LayerNorm struct {
	Axes          int     // number of axes; 0: 1
	ChannelsFirst bool    // over axis 1 of at least three instead: the channels at each position, as in ConvNeXt
	Eps           float64 // 0: 1e-5
	Name          string  // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (l LayerNorm) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	name := e.Label("layernorm", l.Name)
	if l.ChannelsFirst {
		return l.overChannels(e, name, in)
	}
	return []*nn.Value{l.normalize(e, name, in)}
}

func (l LayerNorm) normalize(e *nn.Edit, name string, in []*nn.Value) *nn.Value {
	x, axis, shape := last(e, in, l.Axes)
	w := weight(e, name+".weight", x, initial.Ones{}, nil, shape...)
	b := weight(e, name+".bias", x, initial.Zeros{}, nil, shape...)
	return put(e, name, "LayerNormalization", attrs{"axis": axis, "epsilon": epsilon(e, l.Eps)}, x, w, b)
}

// overChannels normalizes over axis 1, which it moves to the end and back.
func (l LayerNorm) overChannels(e *nn.Edit, name string, in []*nn.Value) []*nn.Value {
	x, rank := ranked(e, in, 3)
	if e.Err() == nil && l.Axes > 1 {
		e.Failf("Axes is %d, but the channels are one axis", l.Axes)
	}
	if e.Err() != nil {
		return nil
	}
	there, back := []int{0}, []int{0, rank - 1}
	for i := 2; i < rank; i++ {
		there, back = append(there, i), append(back, i-1)
	}
	there = append(there, 1)
	y := l.normalize(e, name, []*nn.Value{put(e, name+".channels", "Transpose", attrs{"perm": there}, x)})
	return []*nn.Value{put(e, "", "Transpose", attrs{"perm": back}, y)}
}

// RMSNorm divides each sample by the root of the mean of its squares over the last axes, then multiplies every element by a
// trained scale (Zhang and Sennrich, 2019).
type RMSNorm struct {
	Axes int     // number of axes; 0: 1
	Eps  float64 // 0: 1e-5
	Name string  // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (l RMSNorm) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, axis, shape := last(e, in, l.Axes)
	name := e.Label("rmsnorm", l.Name)
	w := weight(e, name+".weight", x, initial.Ones{}, nil, shape...)
	return []*nn.Value{put(e, name, "RMSNormalization", attrs{"axis": axis, "epsilon": epsilon(e, l.Eps)}, x, w)}
}

// epsilon returns eps, 1e-5 if it is 0.
func epsilon(e *nn.Edit, eps float64) float64 {
	if eps < 0 {
		e.Failf("Eps is %v: want 0 or more", eps)
	}
	return cmp.Or(eps, 1e-5)
}

// last returns the input of a layer that normalizes its last axes, the first of them, and their lengths.
func last(e *nn.Edit, in []*nn.Value, axes int) (x *nn.Value, axis int, shape []int) {
	if axes = cmp.Or(axes, 1); axes < 0 {
		e.Failf("Axes is %d: want 0 or more", axes)
	}
	x, rank := ranked(e, in, axes)
	if e.Err() != nil {
		return nil, 0, nil
	}
	for i := range axes {
		shape = append(shape, sizeOf(e, x, rank-axes+i))
	}
	return x, rank - axes, shape
}

// InstanceNorm normalizes each channel of each sample over the spatial axes, then multiplies it by a trained scale and
// adds a trained bias.
type InstanceNorm struct {
	Eps  float64 // 0: 1e-5
	Name string  // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (n InstanceNorm) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, _ := ranked(e, in, 3)
	c := sizeOf(e, x, 1)
	name := e.Label("instancenorm", n.Name)
	return []*nn.Value{put(e, name, "InstanceNormalization", attrs{"epsilon": epsilon(e, n.Eps)}, x,
		weight(e, name+".weight", x, initial.Ones{}, nil, c), weight(e, name+".bias", x, initial.Zeros{}, nil, c))}
}

// GroupNorm normalizes groups of channels of each sample, then multiplies each channel by a trained scale and adds a
// trained bias (Wu and He, 2018).
type GroupNorm struct {
	Groups int     // number of groups; it must divide the number of channels
	Eps    float64 // 0: 1e-5
	Name   string  // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (n GroupNorm) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, _ := ranked(e, in, 3)
	c := sizeOf(e, x, 1)
	if e.Err() != nil {
		return nil
	}
	if n.Groups <= 0 || c%n.Groups != 0 {
		e.Failf("%d groups do not divide %d channels", n.Groups, c)
		return nil
	}
	eps := epsilon(e, n.Eps)
	name := e.Label("groupnorm", n.Name)
	return []*nn.Value{put(e, name, "GroupNormalization", attrs{"epsilon": eps, "num_groups": n.Groups}, x,
		weight(e, name+".weight", x, initial.Ones{}, nil, c), weight(e, name+".bias", x, initial.Zeros{}, nil, c))}
}
