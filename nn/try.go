package nn

import (
	"slices"
)

// Try runs f as a nested edit. If f fails, or the graph is invalid afterwards, its changes are reverted and its error is
// returned; the outer edit continues as if f had not been called. It is meant for searches, which try changes that may be
// impossible.
func (e *Edit) Try(f func()) error {
	if e.err != nil {
		return e.err
	}
	e.made()
	if f == nil {
		return &Error{Stage: "edit", Err: errNoFunction}
	}
	s := e.save()
	finished := false
	defer func() {
		if !finished { // f panicked: restore the edit for a caller that recovers
			e.restore(s)
		}
	}()
	f()
	finished = true
	e.verify()
	if e.err == nil {
		return nil
	}
	err := e.err
	e.restore(s)
	return err
}

// verify fails the edit unless the nodes can be sorted, all types inferred and every invariant holds.
func (e *Edit) verify() {
	if e.sortNodes(); e.err != nil {
		return
	}
	if len(e.freed) == 0 { // otherwise inputs have new types, which the end of the edit propagates
		if err := e.infer(); err != nil {
			e.fail(err)
			return
		}
	}
	e.fail(e.g.check(e.watched()))
}

// mark is a state of an edit to which it can be reverted.
type mark struct {
	log, notes, freed, cuts, saved int
	place                          []string
	scope                          string
	seed                           uint64
}

func (e *Edit) save() mark {
	return mark{len(e.log), len(e.notes), len(e.freed), len(e.cuts), len(e.saved), slices.Clone(e.place), e.scope, e.seed}
}

func (e *Edit) restore(m mark) {
	for _, a := range slices.Backward(e.log[m.log:]) {
		a.undo()
	}
	e.g.data.forget()
	e.err = nil
	e.log, e.notes, e.freed = e.log[:m.log:m.log], e.notes[:m.notes:m.notes], e.freed[:m.freed:m.freed]
	e.cuts, e.saved = e.cuts[:m.cuts:m.cuts], e.saved[:m.saved:m.saved]
	e.place, e.scope, e.seed, e.sorted = m.place, m.scope, m.seed, -1
}

// weigh merges the plan's cost entries since s into one, given the cost at s.
func (e *Edit) weigh(s mark, before Cost) {
	if e.err != nil || len(e.log) == s.log {
		return
	}
	after := e.cost()
	e.saved = append(e.saved[:s.saved:s.saved], [2]Cost{before, after})
}

// weighed runs f, a change of structure, and records the cost of the model before and after.
func (e *Edit) weighed(f func()) {
	if e.err != nil {
		return
	}
	s := e.save()
	before := e.cost()
	f()
	e.weigh(s, before)
}

// costBefore returns the current cost of the model without the nodes and parameters added since entry from
// of the log.
func (e *Edit) costBefore(from int) Cost {
	c := e.cost()
	costs := e.g.costs()
	for _, a := range e.log[from:] {
		if a.change == nil {
			continue
		}
		switch a.change.Kind {
		case NodeAdded:
			c.MACs -= costs[a.change.Node]
		case ParamAdded:
			if p := a.change.Param; p.purpose() != Constant {
				c.Params -= p.size()
			}
		}
	}
	return c
}
