package contrib

import (
	"slices"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"golang.org/x/sys/cpu"
)

// blockedDomain is the domain of operators on channels in blocks, which occur in models that ONNX Runtime optimized at
// level "all". There, images have shape [N, C, H, W], where C is a multiple of b, but are stored as [N, C/b, H, W, b]; b
// is 16 if the processor has AVX-512 and 8 otherwise. Here images are stored as their shape says, including the channels
// that pad the last block; weights, which the file stores in blocks, are converted to the standard order.
const blockedDomain = "com.microsoft.nchwc"

// BlockedConvConfig has the attributes of Conv in blockedDomain, which are those of FusedConv.
type BlockedConvConfig FusedConvConfig

// Operator names the operator.
func (BlockedConvConfig) Operator() op.Name { return op.Name{Domain: blockedDomain, Name: "Conv"} }

// BlockedMaxPoolConfig has the attributes of MaxPool in blockedDomain.
type BlockedMaxPoolConfig struct {
	AutoPad   string `onnx:"auto_pad,default=NOTSET"` // NOTSET, VALID, SAME_UPPER or SAME_LOWER
	CeilMode  bool   `onnx:"ceil_mode"`               // round the output size up instead of down
	Dilations []int  `onnx:"dilations"`               // of the kernel, per spatial axis; nil: 1
	Kernel    []int  `onnx:"kernel_shape,required"`   // size of the window, per spatial axis
	Pads      []int  `onnx:"pads"`                    // elements added before each spatial axis, then after each; nil: 0
	Storage   int    `onnx:"storage_order,default=0"`
	Strides   []int  `onnx:"strides"` // per spatial axis; nil: 1
}

// Operator names the operator.
func (BlockedMaxPoolConfig) Operator() op.Name {
	return op.Name{Domain: blockedDomain, Name: "MaxPool"}
}

func (c BlockedMaxPoolConfig) pool() std.MaxPoolConfig {
	return std.MaxPoolConfig{AutoPad: c.AutoPad, CeilMode: c.CeilMode, Dilations: c.Dilations, Kernel: c.Kernel, Pads: c.Pads, Strides: c.Strides}
}

// BlockedAveragePoolConfig has the attributes of AveragePool in blockedDomain.
type BlockedAveragePoolConfig struct {
	AutoPad   string `onnx:"auto_pad,default=NOTSET"` // NOTSET, VALID, SAME_UPPER or SAME_LOWER
	CeilMode  bool   `onnx:"ceil_mode"`               // round the output size up instead of down
	Pad       bool   `onnx:"count_include_pad"`       // padding counts in the divisor
	Dilations []int  `onnx:"dilations"`               // of the kernel, per spatial axis; nil: 1
	Kernel    []int  `onnx:"kernel_shape,required"`   // size of the window, per spatial axis
	Pads      []int  `onnx:"pads"`                    // elements added before each spatial axis, then after each; nil: 0
	Strides   []int  `onnx:"strides"`                 // per spatial axis; nil: 1
}

// Operator names the operator.
func (BlockedAveragePoolConfig) Operator() op.Name {
	return op.Name{Domain: blockedDomain, Name: "AveragePool"}
}

// ReorderInputConfig has the attribute of ReorderInput.
type ReorderInputConfig struct {
	ChannelsLast bool `onnx:"channels_last"` // the input is [N, H, W, C]
}

// Operator names the operator.
func (ReorderInputConfig) Operator() op.Name {
	return op.Name{Domain: blockedDomain, Name: "ReorderInput"}
}

// ReorderOutputConfig has the attributes of ReorderOutput.
type ReorderOutputConfig struct {
	Channels     int  `onnx:"channels"`      // without the padding of the last block; 0: all
	ChannelsLast bool `onnx:"channels_last"` // the output is [N, H, W, C]
}

// Operator names the operator.
func (ReorderOutputConfig) Operator() op.Name {
	return op.Name{Domain: blockedDomain, Name: "ReorderOutput"}
}

// BlockedUpsampleConfig has the attributes of Upsample in blockedDomain.
type BlockedUpsampleConfig struct {
	Scales      []int  `onnx:"scales"`               // one per axis
	Mode        string `onnx:"mode,default=nearest"` // nearest or linear
	Coordinates string `onnx:"coordinate_transformation_mode,default=asymmetric"`
}

// Operator names the operator.
func (BlockedUpsampleConfig) Operator() op.Name {
	return op.Name{Domain: blockedDomain, Name: "Upsample"}
}

func blocked() []*op.Op {
	floats := op.Where{"T": op.Floats()}
	plain := func(name, doc string) op.Op {
		return op.Op{Domain: blockedDomain, Name: name, Doc: doc, In: "X T", Out: "Y T", Where: floats, Pinned: "channels come in blocks"}
	}
	with := func(o op.Op, attrs op.Config) op.Op { o.Attrs = attrs; return o }
	conv := with(plain("Conv", "An activation of Conv, to which Sum is added, of channels in blocks."), BlockedConvConfig{})
	conv.In, conv.Cost = "X T, W T weight, B? T weight, Sum? T", counted
	return []*op.Op{
		composed(conv, func(e *expression, in []value) []value {
			in[1] = e.unblocked(in[1])
			return []value{e.fusedConv(e.convOf(in), in)}
		}),
		composed(with(plain("MaxPool", "MaxPool of channels in blocks."), BlockedMaxPoolConfig{}), func(e *expression, in []value) []value {
			return []value{e.do(e.c.Config.(BlockedMaxPoolConfig).pool(), in[0])}
		}),
		composed(with(plain("AveragePool", "AveragePool of channels in blocks."), BlockedAveragePoolConfig{}), func(e *expression, in []value) []value {
			c := e.c.Config.(BlockedAveragePoolConfig)
			return []value{e.do(std.AveragePoolConfig{AutoPad: c.AutoPad, CeilMode: c.CeilMode, CountIncludePad: c.Pad, Kernel: c.Kernel, Pads: c.Pads, Strides: c.Strides, Dilations: c.Dilations}, in[0])}
		}),
		composed(plain("GlobalMaxPool", "GlobalMaxPool of channels in blocks."), func(e *expression, in []value) []value {
			return []value{e.do(op.Plain("GlobalMaxPool"), in[0])}
		}),
		composed(plain("GlobalAveragePool", "GlobalAveragePool of channels in blocks."), func(e *expression, in []value) []value {
			return []value{e.do(op.Plain("GlobalAveragePool"), in[0])}
		}),
		composed(with(plain("Upsample", "Resize by whole factors of channels in blocks."), BlockedUpsampleConfig{}), blockedUpsample),
		composed(with(plain("ReorderInput", "Brings channels into blocks and fills the last one with zeros."), ReorderInputConfig{}), reorderInput),
		composed(with(plain("ReorderOutput", "Takes channels out of blocks and leaves out those that fill the last one."), ReorderOutputConfig{}), reorderOutput),
	}
}

// block returns the number of channels per block, where count is a number of channels that fills blocks.
func block(count op.Dim) int {
	if cpu.X86.HasAVX512F && (!count.Known() || count.Size%16 == 0) {
		return 16
	}
	return 8
}

// convOf returns the configuration of the call, where a depthwise convolution has a group for each channel, those that fill
// the last block included.
func (e *expression) convOf(in []value) FusedConvConfig {
	c := FusedConvConfig(e.c.Config.(BlockedConvConfig))
	if c.Group > 1 && in[1].dim(1) == op.D(1) {
		c.Group = in[1].dim(0).Size
	}
	return c
}

// unblocked converts weights to the standard order [O, I, kernel…]. They are stored as [O/b, I/b,
// kernel…, b of I, b of O] or, if the input is not an image in blocks, and for depthwise convolutions,
// as [O/b, I, kernel…, b of O].
func (e *expression) unblocked(w value) value {
	if !w.typ.Static() || len(w.typ.Shape) < 3 {
		e.failf("the shape of the weights %v is not known", w.typ)
		return value{}
	}
	shape := w.typ.Sizes()
	b := block(op.D(shape[0]))
	if shape[0]%b != 0 {
		e.failf("%d output channels do not fill blocks of %d", shape[0], b)
		return value{}
	}
	kernel := shape[2:]
	stored := slices.Concat([]int{shape[0] / b, shape[1]}, kernel, []int{b})
	perm := []int{0, len(stored) - 1, 1}
	if shape[1] >= b && shape[1]%b == 0 {
		stored = slices.Concat([]int{shape[0] / b, shape[1] / b}, kernel, []int{b, b})
		perm = []int{0, len(stored) - 1, 1, len(stored) - 2}
	}
	for i := range kernel {
		perm = append(perm, 2+i)
	}
	return e.reshape(e.transpose(e.reshape(w, op.Dims(stored...)...), perm...), w.typ.Shape...)
}

func blockedUpsample(e *expression, in []value) []value {
	c := e.c.Config.(BlockedUpsampleConfig)
	scales := make([]float32, len(in[0].typ.Shape))
	for i := range scales {
		scales[i] = 1
		if i < len(c.Scales) {
			scales[i] = float32(c.Scales[i])
		}
	}
	return []value{e.resize(std.ResizeConfig{Mode: c.Mode, Coordinates: c.Coordinates, Nearest: "floor"}, in[0], scales)}
}

// isImage refuses values without batch, channels and spatial axes.
func (e *expression) isImage(x value) bool {
	if len(x.typ.Shape) < 3 {
		e.failf("X is %v, want [batch, channels, …]", x.typ)
	}
	return e.err == nil
}

func reorderInput(e *expression, in []value) []value {
	x := in[0]
	if e.c.Config.(ReorderInputConfig).ChannelsLast {
		x = e.channelsFirst(x)
	}
	if !e.isImage(x) {
		return []value{{}}
	}
	b := 8
	if cpu.X86.HasAVX512F {
		b = 16
	}
	channels := x.dim(1)
	if e.g == nil && !channels.Known() {
		filled := channels.Add(op.D(b - 1)).Div(op.D(b)).Mul(op.D(b))
		return []value{{typ: x.typ.With(append([]op.Dim{x.dim(0), filled}, x.typ.Shape[2:]...)...)}}
	}
	return []value{e.padChannels(x, (b-channels.Size%b)%b)}
}

func reorderOutput(e *expression, in []value) []value {
	c, x := e.c.Config.(ReorderOutputConfig), in[0]
	if !e.isImage(x) {
		return []value{{}}
	}
	switch n := x.dim(1); {
	case c.Channels <= 0:
	case n.Known() && c.Channels > n.Size:
		e.failf("channels is %d, but the input is %v", c.Channels, x.typ)
	case !n.Known() && e.g == nil:
		x = value{typ: x.typ.With(append([]op.Dim{x.dim(0), op.D(c.Channels)}, x.typ.Shape[2:]...)...)}
	case c.Channels != n.Size:
		x = e.slice(x, 1, 0, c.Channels)
	}
	if c.ChannelsLast {
		x = e.channelsBehind(x)
	}
	return []value{x}
}
