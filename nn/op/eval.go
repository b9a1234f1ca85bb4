package op

import (
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Eval computes the outputs of a resolved call, in training followed by the statistics that it moves, from the values of its inputs (nil for
// those that are absent), in newly allocated memory. It is used for constant folding and computations on shapes.
func Eval(c *Call, in []dtype.Value) ([]dtype.Value, error) {
	if c == nil || c.Op == nil {
		return nil, errNoOp
	}
	if c.Op.Lower != nil {
		return evalComposite(c, in)
	}
	e := &emission{call: c, in: make(gorgonia.Nodes, len(in))}
	args := make([]gorgonia.Value, len(in))
	for i, v := range in {
		e.slots = append(e.slots, i)
		if d, ok := v.(*tensor.Dense); !ok || d != nil {
			args[i] = v
		}
	}
	core, err := c.core(e)
	if err != nil {
		return nil, err
	}
	res, err := engine.Eval(engine.WithContext(c.Context()), core, args)
	if e := AtRun(err); e != nil {
		return nil, e
	}
	if err != nil {
		return nil, &Error{Stage: "run", Op: c.Op.Name, Node: c.node(), Err: err}
	}
	n := c.Outputs
	for _, u := range c.Moved() {
		n = max(n, u.Out+1)
	}
	out := make([]dtype.Value, n)
	for i, v := range res[:min(len(res), len(out))] {
		out[i] = v
	}
	return out, nil
}

// Moved returns the statistics that the call moves in training.
func (c *Call) Moved() []Update {
	if c == nil || c.Op == nil || c.Op.State == nil || !c.Train {
		return nil
	}
	return c.Op.State(c)
}

func evalComposite(c *Call, in []dtype.Value) ([]dtype.Value, error) {
	g := gorgonia.NewGraph()
	nodes := make(gorgonia.Nodes, len(in))
	for i, v := range in {
		if v == nil {
			continue
		}
		var err error
		if nodes[i], err = Const(g, v); err != nil {
			return nil, err
		}
	}
	within := *c
	within.scope = &Scope{Graph: g, Train: c.Train, Ctx: c.Ctx, Key: func() (*gorgonia.Node, error) {
		key, err := dtype.FromSlice(c.Key[:], 2)
		if err != nil {
			return nil, err
		}
		return Const(g, key)
	}}
	roots, err := c.Op.Lower(&within, nodes)
	if err != nil {
		return nil, err
	}
	p, err := engine.Compile(engine.Options{Context: c.Context()}, roots...)
	if err != nil {
		return nil, err
	}
	if err := p.Run(c.Context()); err != nil {
		return nil, err
	}
	out := make([]dtype.Value, len(roots))
	for i, r := range roots {
		if r != nil {
			out[i] = p.Value(r)
		}
	}
	return out, nil
}
