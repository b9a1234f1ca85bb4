package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/softmax"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// SoftmaxCrossEntropyLossConfig has the attributes of SoftmaxCrossEntropyLoss.
type SoftmaxCrossEntropyLossConfig struct {
	IgnoreIndex *int   `onnx:"ignore_index"`           // labels of this value do not contribute; nil: all do
	Reduction   string `onnx:"reduction,default=mean"` // none, sum, or mean (weighted by the class weights)
}

// Operator makes SoftmaxCrossEntropyLossConfig a Config.
func (SoftmaxCrossEntropyLossConfig) Operator() op.Name {
	return op.Name{Name: "SoftmaxCrossEntropyLoss"}
}

func softmaxCrossEntropyLoss() *op.Op {
	return &op.Op{
		Name: "SoftmaxCrossEntropyLoss", Since: []int{12, 13}, Expose: spelled(spellCrossEntropy),
		Doc: "Minus the logarithm of the softmax probability of the right classes.",
		In:  "scores T, labels Tind, weights? T", Out: "output T, log_prob? T", Where: op.Where{"T": op.Floats(), "Tind": op.Indices()},
		Attrs: SoftmaxCrossEntropyLossConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			t, err := inferClassLoss(c)
			return append(t, c.In[0]), err
		},
		// The hidden output is log_prob, whether or not the formal one is there.
		Hidden: func(c *op.Call) []op.Type { return []op.Type{c.In[0]} },
		Kernel: func(c *op.Call) (op.Kernel, error) {
			l := classLossOf(c)
			return floatKernel(c, crossEntropy[float32](l), crossEntropy[float64](l)), nil
		},
		Grad: crossEntropyGrad,
		Couple: func(c *op.Call) []coupling.Coupling {
			list := coupleClassLoss(c)
			if c.Wants(1) {
				for a := range c.In[0].Shape {
					if a != 1 {
						list = append(list, op.Couple(coupling.In(0, a), coupling.Out(1, a)))
					}
				}
			}
			return list
		},
	}
}

func crossEntropy[T kernel.Float](l classLoss) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		public, logp := dtype.ElemsAt[T](out, 1), dtype.ElemsAt[T](out, 2)
		if logp == nil {
			logp = public
		}
		if logp == nil {
			logp = scratch[T](x)(l.N * l.C * l.Space)
		}
		softmax.LogSoftmax(pool(x), l.N, l.C, l.Space, logp, dtype.Elems[T](in[0]))
		copyIf(x, public, logp)
		if out[0] == nil {
			return nil
		}
		return nllLoss(pool(x), l, logp, in[1], optional(in, 2), out[0])
	}
}

func crossEntropyGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	l, grads := classLossOf(c), make(gorgonia.Nodes, len(in))
	if dout[0] != nil {
		g, err := classLossGrads(c, in, out[2], out[0], dout[0])
		if err != nil {
			return nil, err
		}
		copy(grads, g)
	}
	if len(dout) < 2 || dout[1] == nil {
		return grads, nil
	}
	d, err := c.Apply1(alongGrad{"LogSoftmaxGrad", along{l.N, l.C, l.Space}}, dout[1], out[2])
	if err != nil {
		return nil, err
	}
	if grads[0] != nil {
		if d, err = c.Apply1(op.Plain("Add"), grads[0], d); err != nil {
			return nil, err
		}
	}
	grads[0] = d
	return grads, nil
}
