package layers

import (
	"cmp"
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
)

// BatchNorm normalizes each channel (axis 1) by the mean and variance of the batch when training,
// by their running averages otherwise, then scales and shifts it.
type BatchNorm struct {
	Eps      float64 // 0: 1e-5
	Momentum float64 // share of the running average that a step keeps, as ONNX counts; 0: 0.9
	Name     string  // of its nodes and parameters; "": one is made

	identity bool
}

// Identity is the layer with a scale of √(1+Eps), which undoes its division outside of training.
func (b BatchNorm) Identity() nn.Layer {
	b.identity = true
	return b
}

// Build adds the layer after in[0].
func (b BatchNorm) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, _ := ranked(e, in, 2)
	c := sizeOf(e, x, 1)
	if e.Err() != nil {
		return nil
	}
	eps, momentum := cmp.Or(b.Eps, 1e-5), cmp.Or(b.Momentum, 0.9)
	scale := initial.Filler(initial.Ones{})
	if b.identity {
		scale = initial.Full{Value: math.Sqrt(1 + float64(float32(eps)))}
	}
	name := e.Label("batchnorm", b.Name)
	return []*nn.Value{put(e, name, "BatchNormalization", attrs{"epsilon": eps, "momentum": momentum}, x,
		weight(e, name+".weight", x, scale, nil, c), weight(e, name+".bias", x, initial.Zeros{}, nil, c),
		weight(e, name+".running_mean", x, initial.Zeros{}, nil, c), weight(e, name+".running_var", x, initial.Ones{}, nil, c))}
}

// LayerNorm normalizes over the last axes of each sample, then scales and shifts every element.
type LayerNorm struct {
	Axes int     // how many of the last axes; 0: 1
	Eps  float64 // 0: 1e-5
	Name string  // of its nodes and parameters; "": one is made
}

// Build adds the layer after in[0].
func (l LayerNorm) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	axes := max(l.Axes, 1)
	x, rank := ranked(e, in, axes)
	if e.Err() != nil {
		return nil
	}
	shape := make([]int, axes)
	for i := range axes {
		shape[i] = sizeOf(e, x, rank-axes+i)
	}
	eps := cmp.Or(l.Eps, 1e-5)
	name := e.Label("layernorm", l.Name)
	w := weight(e, name+".weight", x, initial.Ones{}, nil, shape...)
	b := weight(e, name+".bias", x, initial.Zeros{}, nil, shape...)
	return []*nn.Value{put(e, name, "LayerNormalization", attrs{"axis": rank - axes, "epsilon": eps}, x, w, b)}
}

// InstanceNorm normalizes each channel of each sample over the spatial axes, then scales and shifts it.
type InstanceNorm struct {
	Eps  float64 // 0: 1e-5
	Name string  // of its nodes and parameters; "": one is made
}

// Build adds the layer after in[0].
func (n InstanceNorm) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, _ := ranked(e, in, 3)
	c := sizeOf(e, x, 1)
	name := e.Label("instancenorm", n.Name)
	return []*nn.Value{put(e, name, "InstanceNormalization", attrs{"epsilon": cmp.Or(n.Eps, 1e-5)}, x,
		weight(e, name+".weight", x, initial.Ones{}, nil, c), weight(e, name+".bias", x, initial.Zeros{}, nil, c))}
}

// GroupNorm normalizes groups of channels of each sample, then scales and shifts each channel.
type GroupNorm struct {
	Groups int     // of channels that are normalized together
	Eps    float64 // 0: 1e-5
	Name   string  // of its nodes and parameters; "": one is made
}

// Build adds the layer after in[0].
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
	eps := cmp.Or(n.Eps, 1e-5)
	name := e.Label("groupnorm", n.Name)
	return []*nn.Value{put(e, name, "GroupNormalization", attrs{"epsilon": eps, "num_groups": n.Groups}, x,
		weight(e, name+".weight", x, initial.Ones{}, nil, c), weight(e, name+".bias", x, initial.Zeros{}, nil, c))}
}
