package nn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// Plan is an edit that was tried and reverted. It can be inspected, applied, and undone after that.
type Plan struct {
	g       *Graph
	log     []action
	version int // the version of the graph to which the plan applies
	applied bool
	joined  bool // made by Join
	notes   []string
	cuts    []Cut
	saved   [][2]Cost
}

// Plan tries an edit without applying it. The error is the one that Edit would return.
func (g *Graph) Plan(f func(*Edit)) (*Plan, error) {
	return g.PlanUntil(context.Background(), f)
}

// Apply applies the plan. It is an error if the graph was edited after the plan was made.
func (p *Plan) Apply() error {
	if err := p.made(); err != nil {
		return err
	}
	if err := p.g.begin("plan"); err != nil {
		return err
	}
	defer p.g.lock().Unlock()
	if p.applied {
		return &Error{Stage: "plan", Err: errors.New("is applied already")}
	}
	if p.g.version != p.version {
		return &Error{Stage: "plan", Err: fmt.Errorf("was made for version %d of the graph, which is at %d", p.version, p.g.version)}
	}
	defer p.g.data.forget()
	for i, a := range p.log {
		if err := a.apply(); err != nil {
			(&Edit{g: p.g, log: p.log[:i]}).undo()
			return &Error{Stage: "plan", Err: err}
		}
	}
	p.g.commit(p.log)
	p.applied, p.version = true, p.g.version
	return nil
}

// Undo reverts the plan. It is an error if the graph was edited after the plan was applied.
func (p *Plan) Undo() error {
	if err := p.made(); err != nil {
		return err
	}
	if err := p.g.begin("plan"); err != nil {
		return err
	}
	defer p.g.lock().Unlock()
	if !p.applied {
		return &Error{Stage: "plan", Err: errors.New("is not applied")}
	}
	if p.g.version != p.version {
		return &Error{Stage: "plan", Err: fmt.Errorf("the graph was edited since: version %d, the plan was applied as %d", p.g.version, p.version)}
	}
	e := &Edit{g: p.g, log: p.log}
	e.undo()
	undone := p.version
	if p.joined {
		undone = 0 // several versions: readers of the journal revert them one by one
	}
	p.g.commit(inverse(p.log, undone))
	p.applied, p.version = false, p.g.version
	return nil
}

// Join combines two plans that were applied one after the other, without an edit in between. Its cuts are those of both,
// numbered as in the model before the first, and Undo reverts both.
func (p *Plan) Join(next *Plan) (*Plan, error) {
	defer p.g.entered().unlock()
	if next == nil || p.g == nil || p.g != next.g || !p.applied || !next.applied || next.version != p.version+1 {
		return nil, &Error{Stage: "plan", Err: errors.New("two plans can be joined only when both are applied, the second directly after the first")}
	}
	both := &Plan{g: p.g, log: append(slices.Clip(p.log), next.log...), version: next.version, applied: true, joined: true, notes: slices.Clone(p.notes), cuts: slices.Clone(p.cuts), saved: append(slices.Clip(p.saved), next.saved...)}
	for _, n := range next.notes {
		if !slices.Contains(both.notes, n) {
			both.notes = append(both.notes, n)
		}
	}
	rounds := 0
	for _, c := range p.cuts {
		rounds = max(rounds, c.round)
	}
	for _, c := range next.cuts {
		c.round += rounds
		both.cuts = append(both.cuts, c)
	}
	return both, nil
}

// inverse returns the journal of reverting the actions of a version.
func inverse(log []action, version int) []action {
	swap := map[ChangeKind]ChangeKind{NodeAdded: NodeRemoved, NodeRemoved: NodeAdded, ParamAdded: ParamRemoved, ParamRemoved: ParamAdded}
	out := make([]action, 0, len(log))
	for i := len(log) - 1; i >= 0; i-- {
		if log[i].change == nil {
			continue
		}
		c := *log[i].change
		if k, ok := swap[c.Kind]; ok {
			c.Kind = k
		}
		c.Undoes = version
		c.Name, c.Old = cmp.Or(c.Old, c.Name), c.Name
		if c.Kind == ParamCut {
			c.Keep, c.Size, c.Like, c.Scale = backwards(c.Keep, c.Size), len(c.Keep), nil, unscaled(c)
		}
		out = append(out, action{change: &c})
	}
	return out
}

// backwards returns the index list that reverts a cut of an axis of n indices.
func backwards(keep []int, n int) []int {
	back := make([]int, n)
	for i := range back {
		back[i] = -1
	}
	for i, k := range keep {
		if k >= 0 {
			back[k] = i
		}
	}
	return back
}

// unscaled returns the factors that revert those of a growth by copies.
func unscaled(c Change) []float64 {
	if c.Scale == nil {
		return nil
	}
	s := make([]float64, c.Size)
	for i, k := range c.Keep {
		if k >= 0 {
			s[k] = 1 / c.Scale[i]
		}
	}
	return s
}

// Steps returns the changes, one sentence each.
func (p *Plan) Steps() []string {
	var list []string
	for _, a := range p.log {
		if a.text != "" {
			list = append(list, a.text)
		}
	}
	return list
}

// Notes returns the messages that the edit recorded with Edit.Note.
func (p *Plan) Notes() []string { return p.notes }

// Cost returns the cost of the model before and after; both are zero if the plan does not resize anything.
func (p *Plan) Cost() (before, after Cost) {
	if n := len(p.saved); n > 0 {
		return p.saved[0][0], p.saved[n-1][1]
	}
	return
}
