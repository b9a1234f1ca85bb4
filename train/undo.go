package train

import (
	"context"
	"reflect"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// undo copies the values that the next update changes if one of its rules may fail in the middle, and returns a function that restores
// them. It returns nil if all rules are of package optim, which return an error for a rate for all parameters or for none.
func (t *Trainer) undo() (func(), error) {
	safe := true
	for _, s := range t.params {
		safe = safe && steady(s.plan.rule)
	}
	if safe {
		return nil, nil
	}
	type copied struct {
		p    *nn.Param
		of   *state
		n    int
		now  []*tensor.Dense
		then []*tensor.Dense
	}
	var all []copied
	for _, p := range t.group.order {
		s := t.params[p]
		if !s.has {
			continue
		}
		c := copied{p: p, of: s, n: s.n, now: []*tensor.Dense{direct.Data(p)}}
		for _, slot := range s.slots {
			c.now = append(c.now, slot.Data)
		}
		for _, d := range c.now {
			then, err := snapshot.Clone(context.Background(), d)
			if err != nil {
				return nil, &op.Error{Stage: "train", Param: p.Name(), Err: halted{err}}
			}
			c.then = append(c.then, then)
		}
		all = append(all, c)
	}
	return func() {
		for _, c := range all {
			for i, d := range c.now {
				assign(d, c.then[i])
			}
			c.of.n = c.n
			c.p.Changed()
		}
	}, nil
}

// steady reports whether a rule is one of package optim, or a chain of them.
func steady(r optim.Rule) bool {
	chain, ok := r.(optim.Chain)
	if !ok {
		return ours(reflect.TypeOf(r))
	}
	for _, r := range chain {
		if !steady(r) {
			return false
		}
	}
	return true
}
