package std

import (
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// LinearConfig is the attribute of Linear, an operator of lowerings only: Y = X·W + B, where the last axis of X holds
// the features. With TransB, W is stored as [outputs, inputs].
type LinearConfig struct{ TransB bool }

// Operator makes LinearConfig a Config.
func (LinearConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "Linear"} }

func linearOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "Linear", Since: []int{1}, Doc: "A product with one matrix, and a bias.",
		In: "X T, W T weight, B? T weight", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: LinearConfig{},
		Infer: inferLinear, Lower: lowerLinear, Pinned: "exists in lowerings only",
	}
}

func inferLinear(c *op.Call) ([]op.Type, error) {
	x, w := c.In[0].Shape, c.In[1].Shape
	if len(x) < 2 || len(w) != 2 {
		return nil, c.Errorf("cannot multiply %v by %v", c.In[0], c.In[1])
	}
	k, n := w[0], w[1]
	if c.Config.(LinearConfig).TransB {
		k, n = n, k
	}
	if x[len(x)-1].Differ(k) {
		return nil, c.Errorf("X is %v, W %v: inner dimensions %v and %v differ", c.In[0], c.In[1], x[len(x)-1], k)
	}
	return []op.Type{c.In[0].With(append(append([]op.Dim(nil), x[:len(x)-1]...), n)...)}, nil
}

// lowerLinear takes the rows of all of X as one matrix.
func lowerLinear(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	b, x, y := composeOn(c, in), c.In[0].Shape, c.Out[0].Shape
	last := len(x) - 1
	args := []*gorgonia.Node{b.reshape(in[0], op.Product(x[:last]), x[last]), in[1]}
	if c.Has(2) {
		args = append(args, b.reshape(in[2], y[last]))
	}
	return b.results(in, b.reshape(b.do(GemmConfig{TransB: c.Config.(LinearConfig).TransB}, args...), y...))
}
