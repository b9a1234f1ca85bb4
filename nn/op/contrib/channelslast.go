package contrib

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// NhwcMaxPoolConfig has the attributes of NhwcMaxPool.
type NhwcMaxPoolConfig struct {
	AutoPad   string `onnx:"auto_pad,default=NOTSET"` // NOTSET, VALID, SAME_UPPER or SAME_LOWER
	CeilMode  bool   `onnx:"ceil_mode"`               // round the output size up instead of down
	Dilations []int  `onnx:"dilations"`               // of the kernel, per spatial axis; nil: 1
	Kernel    []int  `onnx:"kernel_shape,required"`   // size of the window, per spatial axis
	Pads      []int  `onnx:"pads"`                    // elements added before each spatial axis, then after each; nil: 0
	Strides   []int  `onnx:"strides"`                 // per spatial axis; nil: 1
}

// Operator names the operator.
func (NhwcMaxPoolConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "NhwcMaxPool"} }

// QLinearConvConfig has the attributes of QLinearConv in this domain.
type QLinearConvConfig struct {
	AutoPad      string `onnx:"auto_pad,default=NOTSET"` // NOTSET, VALID, SAME_UPPER or SAME_LOWER
	ChannelsLast bool   `onnx:"channels_last"`           // X is [N, H, W, C]
	Dilations    []int  `onnx:"dilations"`               // of the kernel, per spatial axis; nil: 1
	Group        int    `onnx:"group,default=1"`         // groups of channels that are convolved separately
	Kernel       []int  `onnx:"kernel_shape"`            // spatial sizes of the kernel; nil: those of the weight
	Pads         []int  `onnx:"pads"`                    // elements added before each spatial axis, then after each; nil: 0
	Strides      []int  `onnx:"strides"`                 // per spatial axis; nil: 1
}

// Operator names the operator.
func (QLinearConvConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "QLinearConv"} }

// channelsLast are operators on integers that ONNX Runtime runs with the channels as the last axis.
func channelsLast() []*op.Op {
	bytes := []op.DType{dtype.Int8, dtype.Uint8}
	return []*op.Op{
		composed(op.Op{Name: "NhwcMaxPool", Doc: "MaxPool of images whose channels are the last axis.",
			In: "x T", Out: "y T", Where: op.Where{"T": bytes}, Attrs: NhwcMaxPoolConfig{}, Pinned: "channels are the last axis", NoGrad: "no output is a float"},
			func(e *expression, in []value) []value {
				c := e.c.Config.(NhwcMaxPoolConfig)
				pool := std.MaxPoolConfig{AutoPad: unpadded(c.AutoPad), CeilMode: c.CeilMode, Dilations: c.Dilations, Kernel: c.Kernel, Pads: c.Pads, Strides: c.Strides}
				return []value{e.channelsBehind(e.do(pool, e.channelsFirst(in[0])))}
			}),
		composed(op.Op{Name: "QLinearConv", Cost: counted, Doc: "QLinearConv, of images whose channels are the last axis on request.",
			In:  "x T1, x_scale float32, x_zero_point T1, w T2, w_scale float32, w_zero_point T2, y_scale float32, y_zero_point T3, B? int32",
			Out: "y T3", Where: op.Where{"T1": bytes, "T2": bytes, "T3": bytes}, Attrs: QLinearConvConfig{}, Pinned: "weights are integers with scales"},
			func(e *expression, in []value) []value {
				c := e.c.Config.(QLinearConvConfig)
				if c.ChannelsLast {
					in[0] = e.channelsFirst(in[0])
				}
				y := e.do(std.QLinearConvConfig{AutoPad: c.AutoPad, Dilations: c.Dilations, Group: c.Group, Kernel: c.Kernel, Pads: c.Pads, Strides: c.Strides}, in...)
				if c.ChannelsLast {
					y = e.channelsBehind(y)
				}
				return []value{y}
			}),
	}
}

// unpadded returns NOTSET for VALID, since with ceil_mode ONNX Runtime's windows extend beyond the input there, too.
func unpadded(autoPad string) string {
	if autoPad == "VALID" {
		return "NOTSET"
	}
	return autoPad
}
