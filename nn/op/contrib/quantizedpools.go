package contrib

import (
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// QLinearAveragePoolConfig has the attributes of QLinearAveragePool.
type QLinearAveragePoolConfig struct {
	AutoPad      string `onnx:"auto_pad,default=NOTSET"` // NOTSET, VALID, SAME_UPPER or SAME_LOWER
	CeilMode     bool   `onnx:"ceil_mode"`               // round the output size up instead of down
	ChannelsLast bool   `onnx:"channels_last"`           // X is [N, H, W, C]
	Pad          bool   `onnx:"count_include_pad"`       // padding counts in the divisor
	Kernel       []int  `onnx:"kernel_shape,required"`   // size of the window, per spatial axis
	Pads         []int  `onnx:"pads"`                    // elements added before each spatial axis, then after each; nil: 0
	Strides      []int  `onnx:"strides"`                 // per spatial axis; nil: 1
}

// Operator names the operator.
func (QLinearAveragePoolConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "QLinearAveragePool"}
}

// QLinearGlobalAveragePoolConfig has the attribute of QLinearGlobalAveragePool.
type QLinearGlobalAveragePoolConfig struct {
	ChannelsLast bool `onnx:"channels_last"` // X is [N, H, W, C]
}

// Operator names the operator.
func (QLinearGlobalAveragePoolConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "QLinearGlobalAveragePool"}
}

func qlinearPools() []*op.Op {
	where := op.Where{"T": bytes()}
	const pinned = "the integers around it have scales"
	return []*op.Op{
		composed(op.Op{Name: "QLinearAveragePool", Doc: "AveragePool of quantized images, whose channels are the last axis on request.",
			In: "X T, x_scale float32, x_zero_point? T, y_scale float32, y_zero_point? T", Out: "Y T", Where: where,
			Attrs: QLinearAveragePoolConfig{}, NoGrad: noFloats, Pinned: pinned},
			func(e *expression, in []value) []value {
				c := e.c.Config.(QLinearAveragePoolConfig)
				pool := std.AveragePoolConfig{AutoPad: unpadded(c.AutoPad), CeilMode: c.CeilMode, CountIncludePad: c.Pad, Kernel: c.Kernel, Pads: c.Pads, Strides: c.Strides}
				return []value{e.qlinearPool(pool, c.ChannelsLast, in, e.shifted)}
			}),
		composed(op.Op{Name: "QLinearGlobalAveragePool", Doc: "GlobalAveragePool of quantized images, whose channels are the last axis on request.",
			In: "X T, x_scale float32, x_zero_point T, y_scale float32, y_zero_point T", Out: "Y T", Where: where,
			Attrs: QLinearGlobalAveragePoolConfig{}, NoGrad: noFloats, Pinned: pinned},
			func(e *expression, in []value) []value {
				return []value{e.qlinearPool(op.Plain("GlobalAveragePool"), e.c.Config.(QLinearGlobalAveragePoolConfig).ChannelsLast, in, e.requantized)}
			}),
	}
}

// qlinearPool pools numbers and rounds the means.
func (e *expression) qlinearPool(pool op.Config, channelsLast bool, in []value, rounded func(y, scale, zero value, to op.DType) value) value {
	x := e.dequantized(in, 0, "X")
	if channelsLast && e.err == nil {
		x = e.channelsFirst(x)
	}
	if c, ok := pool.(std.AveragePoolConfig); ok {
		pool = e.overhanging(c, x)
	}
	y := rounded(e.do(pool, x), in[3], in[4], in[0].typ.DType)
	if channelsLast {
		y = e.channelsBehind(y)
	}
	return y
}

// overhanging pads x so far that no window overhangs, where padding counts: ONNX Runtime divides by the size of the window.
func (e *expression) overhanging(c std.AveragePoolConfig, x value) std.AveragePoolConfig {
	axes := len(c.Kernel)
	if !c.CeilMode || !c.CountIncludePad || c.AutoPad != "NOTSET" || e.g == nil || e.err != nil || len(x.typ.Shape) != axes+2 {
		return c
	}
	pads := make([]int, 2*axes)
	copy(pads, c.Pads)
	for a, k := range c.Kernel {
		stride := 1
		if a < len(c.Strides) {
			stride = c.Strides[a]
		}
		size := x.dim(2 + a).Size
		steps := (size + pads[a] + pads[axes+a] - k + stride - 1) / stride
		if steps*stride >= size+pads[a] { // a window starts in the padding before x, or in x
			steps--
		}
		pads[axes+a] = max(pads[axes+a], steps*stride+k-size-pads[a])
	}
	c.CeilMode, c.Pads = false, pads
	return c
}
