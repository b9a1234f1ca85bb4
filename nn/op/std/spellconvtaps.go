package std

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// mostTaps is the maximum number of kernel points for which the gradient is written point by point.
const mostTaps = 49

// taps returns the parts of a padded input that each point of the kernel reads, [batch, channels,
// space] with all spatial axes flattened; nil if sizes are symbols, or the kernel has too many points.
func (n formula) taps(x *op.Operand) []*op.Operand {
	s := n.Config.(convGradConfig).Conv
	rank := n.rank(0)
	symbolic := slices.ContainsFunc(slices.Concat(n.In[0].Type.Shape[2:], n.In[1].Type.Shape[2:]), op.Dim.Symbolic)
	if symbolic || dtype.Product(s.Kernel) > mostTaps {
		return nil
	}
	pads := make([]int, 2*rank)
	for i := range s.Kernel {
		last := (s.Out[i]-1)*s.Stride[i] + (s.Kernel[i]-1)*s.Dilation[i] + 1
		pads[2+i], pads[rank+2+i] = s.PadBegin[i], last-s.PadBegin[i]-s.In[i]
	}
	if slices.ContainsFunc(pads, func(p int) bool { return p != 0 }) {
		x = n.do(PadConfig{}, x, n.Vector("pads", pads...))
	}
	axes := n.Vector("axes", upTo(2, rank)...)
	steps := n.Vector("steps", s.Stride...)
	var list []*op.Operand
	for k := range dtype.Product(s.Kernel) {
		starts, ends := make([]int, len(s.Kernel)), make([]int, len(s.Kernel))
		for i, rest := len(s.Kernel)-1, k; i >= 0; i-- {
			starts[i] = rest % s.Kernel[i] * s.Dilation[i]
			ends[i] = starts[i] + (s.Out[i]-1)*s.Stride[i] + 1
			rest /= s.Kernel[i]
		}
		part := n.do(SliceConfig{}, x, n.Vector("starts", starts...), n.Vector("ends", ends...), axes, steps)
		list = append(list, n.reshape(part, 0, 0, -1))
	}
	return list
}

// convWeightByTaps writes the gradient of the weight as one matrix product of all kernel points or, for depthwise
// convolutions, as a sum of products for each point: runtimes compute that faster than a convolution with kernels as
// large as images. nil if it is not possible.
func (n formula) convWeightByTaps() *op.Operand {
	s := n.Config.(convGradConfig).Conv
	g := max(s.Group, 1)
	if g > 1 && (g != s.C || g != s.OC) {
		return nil
	}
	taps := n.taps(n.In[0])
	if taps == nil {
		return nil
	}
	dy := n.reshape(n.In[1], 0, 0, -1)
	shape := append([]int{s.OC, s.C / g}, s.Kernel...)
	if g > 1 {
		for i, t := range taps {
			taps[i] = n.unsqueeze(n.sum(n.mul(t, dy), false, 0, 2), 1)
		}
		return n.reshape(n.concat(1, taps...), shape...)
	}
	columns := taps[0]
	if len(taps) > 1 {
		columns = n.concat(1, taps...)
	}
	d := n.sum(n.do(op.Plain("MatMul"), columns, n.transpose(dy, 0, 2, 1)), false, 0)
	d = n.transpose(n.reshape(d, len(taps), s.C, s.OC), 2, 1, 0)
	return n.reshape(d, shape...)
}
