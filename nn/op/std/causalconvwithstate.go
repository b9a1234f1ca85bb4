package std

import (
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
)

// CausalConvWithStateConfig has the attribute of CausalConvWithState.
type CausalConvWithStateConfig struct {
	Activation string `onnx:"activation,default=none"` // none, silu or swish; the last two are the same
}

// Operator makes CausalConvWithStateConfig a Config.
func (CausalConvWithStateConfig) Operator() op.Name { return op.Name{Name: "CausalConvWithState"} }

func causalConvWithState() *op.Op {
	return &op.Op{
		Name: "CausalConvWithState", Since: []int{27}, Doc: "Convolution over time of each channel by itself that remembers the end of its input.",
		In: "input T, weight T weight, bias? T weight, past_state? T", Out: "output T, present_state T",
		Where: op.Where{"T": op.Floats()}, Attrs: CausalConvWithStateConfig{},
		Infer: inferCausalConv, Lower: lowerCausalConv, Couple: coupleCausalConv,
	}
}

func inferCausalConv(c *op.Call) ([]op.Type, error) {
	if a := c.Config.(CausalConvWithStateConfig).Activation; a != "none" && a != "silu" && a != "swish" {
		return nil, c.Errorf("activation %q is unknown", a)
	}
	x, w := c.In[0], c.In[1]
	if x.Unranked || w.Unranked {
		return []op.Type{x, {DType: x.DType, Unranked: true}}, nil
	}
	if len(x.Shape) != 3 {
		return nil, c.Mismatch(0, "batch, channels and time", x)
	}
	if len(w.Shape) != 3 || w.Shape[0].Differ(x.Shape[1]) || w.Shape[1].Differ(op.D(1)) || w.Shape[2].Differ(w.Shape[2].Max(op.D(1))) {
		return nil, c.Mismatch(1, op.T(x.DType, x.Shape[1], op.D(1), op.Sym("k")), w)
	}
	if err := channelVector(c, 2, x.Shape[1]); err != nil {
		return nil, err
	}
	state := x.With(x.Shape[0], x.Shape[1], w.Shape[2].Sub(op.D(1)))
	if c.Has(3) && !c.In[3].Unranked {
		p := c.In[3].Shape
		if len(p) != 3 || p[0].Differ(state.Shape[0]) || p[1].Differ(state.Shape[1]) || p[2].Differ(state.Shape[2]) {
			return nil, c.Mismatch(3, state, c.In[3])
		}
	}
	return []op.Type{x, state}, nil
}

func lowerCausalConv(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	b, x := composeOn(c, in), c.In[0].Shape
	k := c.In[1].Shape[2].Size
	channels := x[1].Size
	var past, padded = (*gorgonia.Node)(nil), in[0]
	if k > 1 {
		if c.Has(3) {
			past = in[3]
		} else {
			past = b.expand(b.fill(c.In[0].DType, 0, 1, 1, 1), x[0], x[1], op.D(k-1))
		}
		padded = b.concat(2, past, in[0])
	}
	y := in[0]
	if x[2].Size > 0 { // Conv refuses a kernel longer than what it reads
		operands := gorgonia.Nodes{padded, in[1]}
		if c.Has(2) {
			operands = append(operands, in[2])
		}
		y = b.do(ConvConfig{Group: channels}, operands...)
		if c.Config.(CausalConvWithStateConfig).Activation != "none" {
			y = b.do(op.Plain("Swish"), y)
		}
	}
	out := []*gorgonia.Node{y, nil}
	if c.Wants(1) {
		if k > 1 {
			out[1] = b.split(padded, 2, x[2].Size, k-1)[1]
		} else {
			out[1] = b.expand(b.fill(c.In[0].DType, 0, 1, 1, 0), x[0], x[1], op.D(0))
		}
	}
	return b.results(in, out[:c.Outputs]...)
}

func coupleCausalConv(c *op.Call) []coupling.Coupling {
	list := []coupling.Coupling{op.Couple(coupling.In(0, 1), coupling.Out(0, 1)), op.Couple(coupling.In(1, 0), coupling.Out(0, 1))}
	if c.Has(2) {
		list = append(list, op.Couple(coupling.In(2, 0), coupling.Out(0, 1)))
	}
	if c.Has(3) {
		list = append(list, op.Couple(coupling.In(3, 1), coupling.Out(0, 1)))
	}
	if c.Wants(1) {
		list = append(list, op.Couple(coupling.In(0, 1), coupling.Out(1, 1)))
	}
	return list
}
