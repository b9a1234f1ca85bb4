package optest

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// Applied returns the uses of other operators by which the operator of a case and its gradient are computed, on the values that they have there.
func Applied(c Case) (list []Case, err error) {
	err = guard(func() error {
		roots, _, err := c.roots()
		if err == nil {
			list, err = applied(roots, c.op())
		}
		return err
	})
	return list, err
}

func applied(roots gorgonia.Nodes, except *op.Op) ([]Case, error) {
	var list []Case
	seen, seenCalls := map[*gorgonia.Node]bool{}, map[*op.Call]bool{}
	var walk func(n *gorgonia.Node) error
	walk = func(n *gorgonia.Node) error {
		if n == nil || seen[n] {
			return nil
		}
		seen[n] = true
		for _, k := range op.Children(n) {
			if err := walk(k); err != nil {
				return err
			}
		}
		call, in, _, ok := op.CallOf(n)
		if !ok || seenCalls[call] || call.Op == except || call.Op.Random {
			return nil
		}
		seenCalls[call] = true
		k := Case{Config: call.Config, Version: call.Version, Opset: call.Opset, Outputs: call.Outputs, Train: call.Train, In: make([]dtype.Value, len(in)), decoded: true}
		for i := range call.Outputs {
			if !call.Wants(i) {
				k.Skip = append(k.Skip, i)
			}
		}
		for i, m := range in {
			if m == nil {
				continue
			}
			v, err := evaluate(gorgonia.Nodes{m}, nil)
			if err != nil {
				return err
			}
			k.In[i] = v[0]
		}
		list = append(list, k)
		return nil
	}
	for _, n := range roots {
		if err := walk(n); err != nil {
			return nil, err
		}
	}
	return list, nil
}
