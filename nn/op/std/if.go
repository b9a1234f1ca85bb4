package std

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// IfConfig has the attributes of If. The values that the branches capture follow the condition in a call, those of Then
// first; they are not among the inputs of the node.
type IfConfig struct {
	Then op.Subgraph `onnx:"then_branch,required"`
	Else op.Subgraph `onnx:"else_branch,required"`
}

// Operator makes IfConfig a Config.
func (IfConfig) Operator() op.Name { return op.Name{Name: "If"} }

func ifOp() *op.Op {
	return &op.Op{
		Name: "If", Since: []int{1, 11, 13, 16, 19, 21, 23, 24, 25},
		Doc: "Computes one of two subgraphs.",
		In:  "cond bool, captured* any", Out: "outputs* any", Attrs: IfConfig{},
		Infer: inferIf, Func: runIf, Grad: ifGrad, Hidden: hiddenStates, State: bodyUpdates, Pinned: "subgraphs read their inputs as they are",
	}
}

// branch returns a subgraph with the part of the captured values that is its own.
func (cfg IfConfig) branch(yes bool) (b op.Subgraph, from, to int) {
	n := len(cfg.Then.Captured())
	if yes {
		return cfg.Then, 0, n
	}
	return cfg.Else, n, n + len(cfg.Else.Captured())
}

// condition returns a boolean of one element.
func condition(c *op.Call, i int, v dtype.Value) (bool, error) {
	d, ok := v.(*tensor.Dense)
	if !ok || dtype.DTypeOf(d) != dtype.Bool || len(d.Raw) != 1 {
		return false, c.Mismatch(i, "one boolean", op.TypeOf(v))
	}
	return dtype.Slice[bool](d)[0], nil
}

func (cfg IfConfig) infer(c *op.Call, yes bool) ([]op.Type, error) {
	b, from, to := cfg.branch(yes)
	t, err := b.Infer(c.Context(), c.In[1+from:1+to], c.Known[1+from:1+to], c.Train)
	if err == nil && len(t) < c.Outputs {
		err = c.Errorf("a branch has %d outputs, the node %d", len(t), c.Outputs)
	}
	return t, err
}

func inferIf(c *op.Call) ([]op.Type, error) {
	cfg := c.Config.(IfConfig)
	if n := len(cfg.Then.Captured()) + len(cfg.Else.Captured()); len(c.In) != 1+n {
		return nil, c.Errorf("reads %d values: want a condition, and the %d that its branches capture", len(c.In), n)
	}
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
		return nil, &op.NeedError{Input: 0, Name: c.InputName(0)}
	}
	differ := false
	out := make([]op.Type, c.Outputs)
	for i := range out {
		if a, b := yes[i], no[i]; !sameElementType(a, b) {
			return nil, c.Errorf("output %d is of type %v in one branch, and of type %v in the other", i, a.DType, b.DType)
		}
		out[i] = common(yes[i], no[i])
		differ = differ || c.Wants(i) && !out[i].Static() && yes[i].Static() && no[i].Static()
	}
	if differ {
		return out, &op.NeedError{Input: 0, Name: c.InputName(0)}
	}
	return out, nil
}

// TakenBranch returns the subgraph that an If with a known condition takes, and the position among the inputs of the
// first value that it captures. b is nil if c is not an If or its condition is not known.
func TakenBranch(c *op.Call) (b op.Subgraph, from int) {
	if c == nil {
		return nil, 0
	}
	cfg, ok := c.Config.(IfConfig)
	if !ok {
		return nil, 0
	}
	v, err := c.Value(0)
	if err != nil {
		return nil, 0
	}
	yes, err := condition(c, 0, v)
	if err != nil {
		return nil, 0
	}
	b, from, _ = cfg.branch(yes)
	return b, 1 + from
}

func runIf(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	yes, err := condition(c, 0, in[0])
	if err != nil {
		return nil, err
	}
	b, from, to := c.Config.(IfConfig).branch(yes)
	out, next, err := b.Run(c.SubgraphRun(c.Key, c.Known[1+from:1+to]), in[1+from:1+to])
	if err != nil {
		return nil, err
	}
	all := slices.Concat(in[:1+from], replaced(in[1+from:1+to], next, b.States()), in[1+to:])
	return withStates(c, out, all), nil
}

func ifGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	return bodyGradients(c, ifGradConfig{c.Config.(IfConfig), len(c.In) - 1, c.Train, c.Random(), flagsOf(c)}, 1, c.In, in, dout)
}

// capturedFrom returns, for each subgraph of an If, Loop or Scan, the index of the first input that it captures;
// the formal inputs come first.
func capturedFrom(c *op.Call) (list []int) {
	bodies := op.Bodies(c.Config)
	at := len(c.In)
	for _, b := range bodies {
		at -= len(b.Captured())
	}
	for _, b := range bodies {
		list = append(list, at)
		at += len(b.Captured())
	}
	return list
}

// bodyUpdates returns the running statistics that subgraphs capture: hidden outputs replace them.
func bodyUpdates(c *op.Call) (list []op.Update) {
	if !c.Train {
		return nil
	}
	for k, from := range capturedFrom(c) {
		b := op.Bodies(c.Config)[k]
		for _, i := range b.States() {
			if i -= b.Inputs(); i >= 0 && from+i < len(c.In) && c.In[from+i].Static() {
				list = append(list, op.Update{Out: max(c.Outputs, 1) + len(list), In: from + i})
			}
		}
	}
	return list
}

// hiddenStates returns the types of the statistics that bodyUpdates lists.
func hiddenStates(c *op.Call) (list []op.Type) {
	for _, u := range bodyUpdates(c) {
		list = append(list, c.In[u.In])
	}
	return list
}

// withStates adds to the outputs of a run the statistics among its inputs after the last iteration.
func withStates(c *op.Call, out, in []dtype.Value) []dtype.Value {
	out = slices.Clone(out[:min(len(out), c.Outputs)])
	for _, u := range bodyUpdates(c) {
		for len(out) < u.Out {
			out = append(out, nil)
		}
		out = append(out, in[u.In])
	}
	return out
}

// bodyFlags are the flags of the inputs of a control-flow operator's gradient.
type bodyFlags struct{ Frozen, Apart []bool }

func flagsOf(c *op.Call) (f bodyFlags) {
	for _, k := range c.Known {
		f.Frozen, f.Apart = append(f.Frozen, k.Frozen), append(f.Apart, k.Apart)
	}
	return f
}

func (f bodyFlags) apart(i int) bool { return i < len(f.Apart) && f.Apart[i] }

// of returns the flags of the inputs in [from, to).
func (f bodyFlags) of(from, to int) bodyFlags { return bodyFlags{f.Frozen[from:to], f.Apart[from:to]} }

// gradientKey takes the random key, its last input, from those of a gradient that has one.
func gradientKey(c *op.Call, in []dtype.Value, keyed bool) ([]dtype.Value, [2]uint64) {
	if !keyed {
		return in, [2]uint64{}
	}
	last := len(in) - 1
	if key, ok := in[last].(*tensor.Dense); ok && key != nil {
		return in[:last], [2]uint64(dtype.Slice[uint64](key))
	}
	return in[:last], [2]uint64{}
}

// bodyGradients applies a gradient operator of a control-flow operator: its inputs are all inputs and
// output gradients, its outputs the gradients of the differentiable inputs from position first on.
func bodyGradients(c *op.Call, cfg op.Config, first int, types []op.Type, in, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	var at []int
	in, key := in[:len(types)], in[len(types):]
	for i := first; i < len(in); i++ {
		if in[i] != nil && op.Differentiable(types[i]) && !c.Known[i].Apart {
			at = append(at, i)
		}
	}
	grads := make(gorgonia.Nodes, len(in))
	if len(at) == 0 {
		return grads, nil
	}
	args := slices.Concat(in, dout, key)
	d, err := c.ApplyN(len(at), cfg, args...)
	if err != nil {
		return nil, err
	}
	for k, i := range at {
		grads[i] = d[k]
	}
	return grads, nil
}

// gradTypes returns the types of the differentiable inputs in [first, end).
func gradTypes(in []op.Type, first, end int, flags bodyFlags) []op.Type {
	var list []op.Type
	for i, t := range in[first:end] {
		if op.Differentiable(t) && !flags.apart(first+i) {
			list = append(list, t)
		}
	}
	return list
}

type ifGradConfig struct {
	If       IfConfig
	Captured int
	Train    bool
	Keyed    bool // the random key is the last input
	Flags    bodyFlags
}

func (ifGradConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "IfGrad"} }

func ifGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "IfGrad", Since: []int{1}, Doc: "Gradient of If: that of the branch taken, zeros for the other.",
		In: "cond bool, rest* any", Out: "grads* any", Attrs: ifGradConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			return gradTypes(c.In, 1, 1+c.Config.(ifGradConfig).Captured, c.Config.(ifGradConfig).Flags), nil
		},
		Func: func(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
			cfg := c.Config.(ifGradConfig)
			in, key := gradientKey(c, in, cfg.Keyed)
			yes, err := condition(c, 0, in[0])
			if err != nil {
				return nil, err
			}
			b, from, to := cfg.If.branch(yes)
			flags, captured := cfg.Flags.of(1+from, 1+to), in[1+from:1+to]
			g := &bodyGrad{body: b, run: op.SubgraphRun{Ctx: c.Context(), Train: cfg.Train, Frozen: flags.Frozen}, flags: flags}
			d, err := g.gradient(key, captured, in[1+cfg.Captured:], g.asked(captured))
			if err != nil {
				return nil, err
			}
			all := make([]dtype.Value, cfg.Captured)
			copy(all[from:to], d)
			return compactGrads(c.In, 1, all, cfg.Flags), nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

// compactGrads drops the gradients of inputs that have none; d is by input from first on.
func compactGrads(in []op.Type, first int, d []dtype.Value, flags bodyFlags) []dtype.Value {
	var list []dtype.Value
	for i, v := range d {
		if t := in[first+i]; op.Differentiable(t) && !flags.apart(first+i) {
			list = append(list, orZeros(v, t))
		}
	}
	return list
}
