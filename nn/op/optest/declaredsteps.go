package optest

import (
	"fmt"
	"strings"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// declaredSteps returns, for an operator that declares patterns, the steps of programs in which
// another operator precedes or follows it. A missed fusion does not change results; it is only visible
// here.
func (c *Case) declaredSteps() (string, error) {
	if c.op().Scheduling.Patterns == nil {
		return "", nil
	}
	var b strings.Builder
	answers, order := map[string][]string{}, []string{}
	for _, n := range neighbors {
		steps, err := c.stepsWith(n)
		if err != nil {
			return "", fmt.Errorf("with %s: %w", n.name, err)
		}
		if steps == "" {
			continue
		}
		if answers[steps] == nil {
			order = append(order, steps)
		}
		answers[steps] = append(answers[steps], n.name)
	}
	for _, s := range order {
		fmt.Fprintf(&b, "\tsteps %s\n\t\t%s\n", s, strings.Join(answers[s], " "))
	}
	return b.String(), nil
}

// neighbor is an operator next to that of a case: it computes input 0, or it reads output 0, together
// with a tensor of the same shape, of one element for each index of axis 1 or of the last axis, or of
// one element.
type neighbor struct{ name, before, after, with string }

var neighbors = []neighbor{
	{name: "Tanh-", before: "Tanh"},
	{name: "-Relu", after: "Relu"},
	{name: "-Tanh", after: "Tanh"},
	{name: "-Exp", after: "Exp"},
	{name: "-Add.same", after: "Add", with: "same"},
	{name: "-Add.channel", after: "Add", with: "channel"},
	{name: "-Mul.channel", after: "Mul", with: "channel"},
	{name: "-Add.last", after: "Add", with: "last"},
	{name: "-Mul.scalar", after: "Mul", with: "scalar"},
	{name: "-Sub.scalar", after: "Sub", with: "scalar"},
}

// stepsWith returns "" if the two operators cannot be combined.
func (c *Case) stepsWith(n neighbor) (string, error) {
	b, err := c.build(c.In)
	if err != nil || b.out[0] == nil || b.call.Out[0].DType != dtype.Float32 || b.call.Out[0].Kind != op.Tensor {
		return "", err
	}
	y := b.out[0]
	if n.before != "" {
		if len(b.in) == 0 || b.in[0] == nil || b.call.In[0].DType != dtype.Float32 || b.call.In[0].Kind != op.Tensor {
			return "", nil
		}
		in := append(gorgonia.Nodes{}, b.in...)
		if in[0], err = b.call.Apply1(op.Plain(n.before), b.in[0]); err != nil {
			return "", err
		}
		out, err := op.Emit(b.graph, b.call, in)
		if err != nil {
			return "", err
		}
		y = out[0]
	}
	if n.after != "" {
		in := gorgonia.Nodes{y}
		if n.with != "" {
			shape, ok := withShape(n.with, b.call.Out[0].Sizes())
			if !ok {
				return "", nil
			}
			k, err := op.Const(b.graph, Rand(9, shape...))
			if err != nil {
				return "", err
			}
			in = append(in, k)
		}
		if y, err = b.call.Apply1(op.Plain(n.after), in...); err != nil {
			return "", err
		}
	}
	p, err := engine.Compile(engine.Options{}, y)
	if err != nil {
		return "", err
	}
	return strings.Join(p.Stats().Steps, "; "), nil
}

// declaredProgram lists the steps that compute results and gradients; a superfluous step does not change results.
func (c *Case) declaredProgram() string {
	roots, _, err := c.roots()
	if err != nil || len(roots) == 0 {
		return ""
	}
	p, err := engine.Compile(engine.Options{}, roots...)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("\tprogram %s\n", strings.Join(p.Stats().Steps, "; "))
}

func withShape(with string, shape []int) ([]int, bool) {
	switch with {
	case "same":
		return shape, true
	case "channel":
		if len(shape) < 3 {
			return nil, false
		}
		s := []int{shape[1]}
		for range shape[2:] {
			s = append(s, 1)
		}
		return s, true
	case "last":
		if len(shape) == 0 {
			return nil, false
		}
		return shape[len(shape)-1:], true
	}
	return nil, true
}
