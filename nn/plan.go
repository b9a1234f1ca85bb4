package nn

import (
	"errors"
	"fmt"
)

// Plan is an edit that was tried and taken back: look at it, then Apply it, and Undo it if need be.
type Plan struct {
	g       *Graph
	log     []action
	version int // the graph's version for which the plan holds
	applied bool
	notes   []string
	cuts    []Cut
	saved   [][2]Cost
}

// Plan tries an edit without applying it. The error is the one that Edit would return.
func (g *Graph) Plan(f func(*Edit)) (*Plan, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e, err := g.attempt(f)
	if err != nil {
		return nil, err
	}
	e.undo()
	return &Plan{g: g, log: e.log, version: g.version, notes: e.notes, cuts: e.cuts, saved: e.saved}, nil
}

// Apply makes the change. The graph must not have been edited since the plan was made.
func (p *Plan) Apply() error {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if p.applied {
		return &Error{Stage: "plan", Err: errors.New("is applied already")}
	}
	if p.g.version != p.version {
		return &Error{Stage: "plan", Err: fmt.Errorf("was made for version %d of the graph, which is at %d", p.version, p.g.version)}
	}
	for _, a := range p.log {
		a.do()
	}
	if err := p.g.infer(); err != nil {
		return err
	}
	p.g.commit(p.log)
	p.applied, p.version = true, p.g.version
	return nil
}

// Undo takes the change back. The graph must not have been edited since.
func (p *Plan) Undo() error {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if !p.applied {
		return &Error{Stage: "plan", Err: errors.New("is not applied")}
	}
	if p.g.version != p.version {
		return &Error{Stage: "plan", Err: fmt.Errorf("the graph was edited since: version %d, the plan was applied as %d", p.g.version, p.version)}
	}
	e := &Edit{g: p.g, log: p.log}
	e.undo()
	p.g.commit(inverse(p.log))
	p.applied, p.version = false, p.g.version
	return nil
}

// inverse is the journal of taking the actions back.
func inverse(log []action) []action {
	swap := map[ChangeKind]ChangeKind{NodeAdded: NodeRemoved, NodeRemoved: NodeAdded, ParamAdded: ParamRemoved, ParamRemoved: ParamAdded}
	out := make([]action, 0, len(log))
	for i := len(log) - 1; i >= 0; i-- {
		c := log[i].change
		if k, ok := swap[c.Kind]; ok {
			c.Kind = k
		}
		c.Name, c.Old = first(c.Old, c.Name), c.Name
		if c.Kind == ParamCut {
			c.Keep, c.Size = backwards(c.Keep, c.Size), len(c.Keep)
		}
		out = append(out, action{change: c})
	}
	return out
}

// backwards is the index list that takes back a cut of an axis of n indices.
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

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Steps are the changes, one sentence each.
func (p *Plan) Steps() []string {
	var list []string
	for _, a := range p.log {
		if a.text != "" {
			list = append(list, a.text)
		}
	}
	return list
}

// Notes are what the edit wanted its caller to know.
func (p *Plan) Notes() []string { return p.notes }

// Cost is what the model weighs before and after; both are zero when the plan resizes nothing.
func (p *Plan) Cost() (before, after Cost) {
	if n := len(p.saved); n > 0 {
		return p.saved[0][0], p.saved[n-1][1]
	}
	return
}
