package op

import (
	"github.com/graft-ml/graft/internal/kernel"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// SoftmaxCrossEntropyLossConfig has the attributes of SoftmaxCrossEntropyLoss.
type SoftmaxCrossEntropyLossConfig struct {
	IgnoreIndex *int   `onnx:"ignore_index"`           // a label that does not count
	Reduction   string `onnx:"reduction,default=mean"` // none, sum, mean: weighted
}

// Operator makes SoftmaxCrossEntropyLossConfig a Config.
func (SoftmaxCrossEntropyLossConfig) Operator() Name { return Name{Name: "SoftmaxCrossEntropyLoss"} }

func softmaxCrossEntropyLoss() *Op {
	return &Op{
		Name: "SoftmaxCrossEntropyLoss", Since: []int{12, 13},
		Doc: "Minus the logarithm of the softmax probability of the right classes.",
		In:  "scores T, labels Tind, weights? T", Out: "output T, log_prob? T", Where: Where{"T": Floats, "Tind": Indices},
		Attrs: SoftmaxCrossEntropyLossConfig{},
		Infer: func(c *Call) ([]Type, error) {
			t, err := inferClassLoss(c)
			return append(t, c.In[0]), err
		},
		// The hidden output is log_prob, whether or not the formal one is there.
		Hidden: func(c *Call) []Type { return []Type{c.In[0]} },
		Kernel: func(c *Call) (Kernel, error) {
			l := classLossOf(c)
			return perPrecision(c.In[0].DType, crossEntropy[float32](l), crossEntropy[float64](l)), nil
		},
		Grad: crossEntropyGrad,
		Couple: func(c *Call) []Coupling {
			list := coupleClassLoss(c)
			if c.Wants(1) {
				for a := range c.In[0].Shape {
					if a != 1 {
						list = append(list, Couple(InAxis(0, a), OutAxis(1, a)))
					}
				}
			}
			return list
		},
	}
}

func crossEntropy[T kernel.Float](l classLoss) Kernel {
	return func(x *Exec, out, in []*tensor.Dense) error {
		public, logp := elemsAt[T](out, 1), elemsAt[T](out, 2)
		if logp == nil {
			logp = public
		}
		if logp == nil {
			logp = scratch[T](x)(l.N * l.C * l.Space)
		}
		kernel.LogSoftmax(pool(x), l.N, l.C, l.Space, logp, elems[T](in[0]))
		copy(public, logp)
		if out[0] == nil {
			return nil
		}
		return nllLoss(l, logp, in[1], optional(in, 2), out[0])
	}
}

func crossEntropyGrad(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
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
		if d, err = gorgonia.Add(grads[0], d); err != nil {
			return nil, err
		}
	}
	grads[0] = d
	return grads, nil
}
