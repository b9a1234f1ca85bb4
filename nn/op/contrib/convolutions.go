package contrib

import (
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/std"
)

// FusedConvConfig has the attributes of FusedConv: those of Conv and an activation with its parameters.
type FusedConvConfig struct {
	AutoPad    string    `onnx:"auto_pad,default=NOTSET"` // NOTSET, VALID, SAME_UPPER or SAME_LOWER
	Dilations  []int     `onnx:"dilations"`               // of the kernel, per spatial axis; nil: 1
	Group      int       `onnx:"group,default=1"`         // groups of channels that are convolved separately
	Kernel     []int     `onnx:"kernel_shape"`            // spatial sizes of the kernel; nil: those of the weight
	Pads       []int     `onnx:"pads"`                    // elements added before each spatial axis, then after each; nil: 0
	Strides    []int     `onnx:"strides"`                 // per spatial axis; nil: 1
	Activation string    `onnx:"activation"`              // applied to the result; "": none
	Params     []float32 `onnx:"activation_params"`       // parameters of the activation, in order
}

// Operator names the operator.
func (FusedConvConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "FusedConv"} }

func (c FusedConvConfig) conv() std.ConvConfig {
	return std.ConvConfig{AutoPad: c.AutoPad, Dilations: c.Dilations, Group: c.Group, Kernel: c.Kernel, Pads: c.Pads, Strides: c.Strides}
}

// NhwcFusedConvConfig has the attributes of NhwcFusedConv, which are those of FusedConv.
type NhwcFusedConvConfig FusedConvConfig

// Operator names the operator.
func (NhwcFusedConvConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "NhwcFusedConv"} }

func convolutions() []*op.Op {
	floats := op.Where{"T": op.Floats()}
	return []*op.Op{
		composed(op.Op{Name: "FusedConv", Cost: counted, Doc: "An activation of Conv, to which Z is added.",
			In: "X T, W T weight, B? T weight, Z? T", Out: "Y T", Where: floats, Attrs: FusedConvConfig{}, Couple: coupleFusedConv, Traits: op.Traits{Window: fusedConvWindow}},
			func(e *expression, in []value) []value {
				return []value{e.fusedConv(e.c.Config.(FusedConvConfig), in)}
			}),
		composed(op.Op{Name: "NhwcFusedConv", Cost: counted, Doc: "FusedConv of images whose channels are the last axis.",
			In: "X T, W T weight, B? T weight, Z? T", Out: "Y T", Where: floats, Attrs: NhwcFusedConvConfig{}, Pinned: "channels are the last axis"},
			func(e *expression, in []value) []value {
				in[0], in[3] = e.channelsFirst(in[0]), e.channelsFirst(in[3])
				return []value{e.channelsBehind(e.fusedConv(FusedConvConfig(e.c.Config.(NhwcFusedConvConfig)), in))}
			}),
	}
}

func (e *expression) fusedConv(c FusedConvConfig, in []value) value {
	y := e.do(c.conv(), in[:3]...)
	if in[3].there() {
		y = e.add(y, in[3])
	}
	return e.activation(c.Activation, y, c.Params)
}

// coupleFusedConv returns Conv's couplings; the operand that is added has the shape of the result.
func coupleFusedConv(c *op.Call) []coupling.Coupling {
	list := couplingsAs(c, c.Config.(FusedConvConfig).conv(), 3)
	if c.Has(3) {
		list = append(list, op.CoupleAll(c, 3)...)
	}
	return list
}

// fusedConvWindow returns the window of the convolution.
func fusedConvWindow(c *op.Call) *op.Window {
	cfg := c.Config.(FusedConvConfig)
	return &op.Window{
		Weight: 1, Strides: cfg.Strides, Dilations: cfg.Dilations, Pads: cfg.Pads, AutoPad: cfg.AutoPad,
		With: func(kernel, pads []int, autoPad string) op.Config {
			next := cfg
			next.Kernel, next.Pads, next.AutoPad = kernel, pads, autoPad
			return next
		},
	}
}

// channelsFirst makes [N, C, …] of [N, …, C]; an absent value stays absent.
func (e *expression) channelsFirst(v value) value {
	rank := len(v.typ.Shape)
	if !v.there() || rank < 3 {
		return v
	}
	perm := []int{0, rank - 1}
	for i := 1; i < rank-1; i++ {
		perm = append(perm, i)
	}
	return e.transpose(v, perm...)
}

// channelsBehind returns the inverse of channelsFirst.
func (e *expression) channelsBehind(v value) value {
	rank := len(v.typ.Shape)
	if e.err != nil || rank < 3 {
		return v
	}
	perm := []int{0}
	for i := 2; i < rank; i++ {
		perm = append(perm, i)
	}
	return e.transpose(v, append(perm, 1)...)
}
