package op

import (
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// IfConfig has the attributes of If. The inputs behind the condition are the values that the
// branches capture, those of Then first.
type IfConfig struct {
	Then Body `onnx:"then_branch,required"`
	Else Body `onnx:"else_branch,required"`
}

// Operator makes IfConfig a Config.
func (IfConfig) Operator() Name { return Name{Name: "If"} }

func ifOp() *Op {
	return &Op{
		Name: "If", Since: []int{1, 11, 13, 16, 19, 21, 23, 24, 25},
		Doc: "Computes one of two subgraphs.",
		In:  "cond bool, captured* any", Out: "outputs* any", Attrs: IfConfig{},
		Infer: inferIf, Func: runIf, Grad: ifGrad, Pinned: "subgraphs read their inputs as they are",
	}
}

// branch is a subgraph with the part of the captured values that is its own.
func (cfg IfConfig) branch(yes bool) (b Body, from, to int) {
	n := len(cfg.Then.Captured())
	if yes {
		return cfg.Then, 0, n
	}
	return cfg.Else, n, n + len(cfg.Else.Captured())
}

// condition is a boolean of one element.
func condition(c *Call, i int, v dtype.Value) (bool, error) {
	d, ok := v.(*tensor.Dense)
	if !ok || dtype.DTypeOf(d) != dtype.Bool || len(d.Raw) != 1 {
		return false, c.wantGot(i, "one boolean", TypeOf(v))
	}
	return dtype.Slice[bool](d)[0], nil
}

func (cfg IfConfig) infer(c *Call, yes bool) ([]Type, error) {
	b, from, to := cfg.branch(yes)
	if len(c.In) < 1+to {
		return nil, c.Errorf("has %d captured values, its branches want %d", len(c.In)-1, to)
	}
	t, err := b.Infer(c.In[1+from:1+to], c.Known[1+from:1+to], c.Train)
	if err == nil && len(t) < c.Outputs {
		err = c.Errorf("a branch has %d outputs, the node %d", len(t), c.Outputs)
	}
	return t, err
}

func inferIf(c *Call) ([]Type, error) {
	cfg := c.Config.(IfConfig)
	if v, err := c.Value(0); err == nil {
		yes, err := condition(c, 0, v)
		if err != nil {
			return nil, err
		}
		return cfg.infer(c, yes)
	}
	yes, err := cfg.infer(c, true)
	no, err2 := cfg.infer(c, false)
	if err != nil || err2 != nil { // a branch may be wrong for these shapes because it is not taken for them
		return nil, &NeedError{Input: 0, Name: c.InputName(0)}
	}
	differ := false
	out := make([]Type, c.Outputs)
	for i := range out {
		out[i] = common(yes[i], no[i])
		differ = differ || c.Wants(i) && !out[i].Static() && yes[i].Static() && no[i].Static()
	}
	if differ {
		return out, &NeedError{Input: 0, Name: c.InputName(0)}
	}
	return out, nil
}

func runIf(c *Call, in []dtype.Value) ([]dtype.Value, error) {
	yes, err := condition(c, 0, in[0])
	if err != nil {
		return nil, err
	}
	b, from, to := c.Config.(IfConfig).branch(yes)
	return b.Run(in[1+from : 1+to])
}

func ifGrad(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	return bodyGradients(c, ifGradConfig{c.Config.(IfConfig), len(in) - 1, c.Train}, 1, c.In, in, dout)
}

// bodyGradients applies a gradient operator of a control-flow operator: it takes all inputs and
// output gradients and gives the gradients of the differentiable inputs from position first on.
func bodyGradients(c *Call, cfg Config, first int, types []Type, in, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	var at []int
	for i := first; i < len(in); i++ {
		if in[i] != nil && differentiable(types[i]) {
			at = append(at, i)
		}
	}
	grads := make(gorgonia.Nodes, len(in))
	if len(at) == 0 {
		return grads, nil
	}
	args := append(append(gorgonia.Nodes{}, in...), dout...)
	d, err := c.ApplyN(len(at), cfg, args...)
	if err != nil {
		return nil, err
	}
	for k, i := range at {
		grads[i] = d[k]
	}
	return grads, nil
}

// gradTypes are the types of the differentiable inputs in [first, end).
func gradTypes(in []Type, first, end int) []Type {
	var list []Type
	for _, t := range in[first:end] {
		if t.Present() && differentiable(t) {
			list = append(list, t)
		}
	}
	return list
}

type ifGradConfig struct {
	If       IfConfig
	Captured int
	Train    bool
}

func (ifGradConfig) Operator() Name { return Name{Domain: Internal, Name: "IfGrad"} }

func ifGradOp() *Op {
	return &Op{
		Domain: Internal, Name: "IfGrad", Since: []int{1}, Doc: "Gradient of If: that of the branch taken, zeros for the other.",
		In: "cond bool, rest* any", Out: "grads* any", Attrs: ifGradConfig{},
		Infer: func(c *Call) ([]Type, error) {
			return gradTypes(c.In, 1, 1+c.Config.(ifGradConfig).Captured), nil
		},
		Func: func(c *Call, in []dtype.Value) ([]dtype.Value, error) {
			cfg := c.Config.(ifGradConfig)
			yes, err := condition(c, 0, in[0])
			if err != nil {
				return nil, err
			}
			b, from, to := cfg.If.branch(yes)
			fixed := make([]bool, to-from)
			for i := range fixed {
				fixed[i] = true
			}
			g := &bodyGrad{ops: c.Set, body: b, train: cfg.Train, fixed: fixed}
			d, err := g.run(in[1+from:1+to], in[1+cfg.Captured:])
			if err != nil {
				return nil, err
			}
			all := make([]dtype.Value, cfg.Captured)
			copy(all[from:to], d)
			return compactGrads(c.In, 1, all), nil
		},
		GradMissing: notTwice, Pinned: "gradient",
	}
}

// compactGrads drops the gradients of inputs that have none; d is by input from first on.
func compactGrads(in []Type, first int, d []dtype.Value) []dtype.Value {
	var list []dtype.Value
	for i, v := range d {
		if t := in[first+i]; t.Present() && differentiable(t) {
			list = append(list, orZeros(v, t))
		}
	}
	return list
}
