package nn

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
)

// ReadPlan reads a plan that MarshalJSON wrote and tries it on g, whose initializers must have the names and lengths of
// the model that the plan was made for. Cuts are repeated, and so is growth, index by index and, if the weights are the
// same, value by value. A plan with other changes, such as added nodes, is refused, since the file only has their names.
func ReadPlan(g *Graph, r io.Reader) (*Plan, error) {
	var f struct {
		Cuts    []Cut    `json:"cuts"`
		Resizes []resize `json:"resizes"`
		Steps   []string `json:"steps"`
		Joined  bool     `json:"joined"`
	}
	if r == nil {
		return nil, &Error{Stage: "plan", Err: errors.New("there is no reader")}
	}
	b, err := budget.ReadAll(r)
	if err == nil {
		err = budget.Unmarshal(b, &f)
	}
	if err != nil {
		return nil, &Error{Stage: "plan", Err: fmt.Errorf("not a plan: %w", err)}
	}
	if len(f.Resizes) == 0 && len(f.Cuts) == 0 {
		return nil, &Error{Stage: "plan", Err: fmt.Errorf("the file has neither cuts nor resizes")}
	}
	p, err := g.Plan(func(e *Edit) {
		if len(f.Resizes) > 0 {
			e.replay(f.Resizes)
		} else {
			e.Cut(f.Cuts...)
		}
	})
	if err != nil || f.Joined {
		return p, err
	}
	// Resizing repeats its steps; other steps in the file come from other edits.
	again := p.Steps()
	for _, step := range f.Steps {
		if !strings.Contains(step, ": axis ") && !slices.Contains(again, step) { // the first reader of a cut initializer may differ
			return nil, &Error{Stage: "plan", Err: fmt.Errorf("%q does not change sizes and cannot be repeated: keep such edits as a recipe", step)}
		}
	}
	return p, nil
}

// resize is one change of channels: a cut, or the growth of one group.
type resize struct {
	Cut  []Cut   `json:"cut,omitempty"`
	Grow *growth `json:"grow,omitempty"`
}

// Grown lists the indices that an axis of an initializer gained.
type Grown struct {
	Initializer string `json:"initializer"` // name of the parameter
	Axis        int    `json:"axis"`        // of the parameter
	Node        string `json:"node"`        // the first node that reads it
	Before      int    `json:"before"`      // length of the axis
	After       int    `json:"after"`       // its length afterwards
	Added
}

// Grown returns what the plan adds to initializers, in the order of the additions and with indices as of each addition.
func (p *Plan) Grown() []Grown {
	var list []Grown
	for _, r := range resizes(p.cuts) {
		if r.Grow != nil {
			list = append(list, r.Grow.Axes...)
		}
	}
	return list
}

// resizes groups the records of an edit by change of channels.
func resizes(cuts []Cut) []resize {
	var list []resize
	var last Cut
	for _, c := range cuts {
		if c.grow == nil && len(c.Removed) == 0 {
			continue // a constant that follows a growth
		}
		first := len(list) == 0 || c.grow != last.grow || c.grow == nil && c.round != last.round
		last = c
		if first && c.grow != nil {
			g := *c.grow
			g.Axes = nil
			list = append(list, resize{Grow: &g})
		} else if first {
			list = append(list, resize{})
		}
		r := &list[len(list)-1]
		switch {
		case c.grow == nil:
			r.Cut = append(r.Cut, c)
		case c.added != nil:
			r.Grow.Axes = append(r.Grow.Axes, Grown{c.Initializer, c.Axis, c.Node, c.Before, c.After, *c.added})
		}
	}
	return list
}

// replay repeats the listed changes.
func (e *Edit) replay(list []resize) {
	for _, r := range list {
		if r.Grow != nil {
			e.regrow(*r.Grow)
		} else {
			e.Cut(r.Cut...)
		}
		if e.err != nil {
			return
		}
	}
}

// regrow grows the group whose atoms are on the listed axes, and checks that it gains what is listed.
func (e *Edit) regrow(how growth) {
	c := e.Channels()
	if e.err != nil {
		return
	}
	want := map[axisID]Grown{}
	for _, x := range how.Axes {
		v := e.g.values[x.Initializer]
		if v == nil {
			e.fail(&Error{Stage: "plan", Err: fmt.Errorf("the graph has no initializer %q", x.Initializer)})
			return
		}
		id, ok := c.a.of(v, x.Axis)
		if size := c.a.sizeOf(id, ok); !ok || x.Before != size {
			e.fail(&Error{Stage: "plan", Input: x.Initializer, Err: fmt.Errorf("axis %d", x.Axis), Want: x.Before, Got: size})
			return
		}
		want[id] = x
	}
	for _, g := range c.groups {
		if how.Count > 0 && g.grows(how.Count, want) {
			e.widenGroups(c, []growing{{g, growth{Count: how.Count, Copy: how.Copy, Quiet: how.Quiet, Seed: how.Seed}}})
			return
		}
	}
	e.fail(&Error{Stage: "plan", Err: fmt.Errorf("the graph has no group of channels that can grow as the plan says")})
}

// grows reports whether k more atoms change the group's parameters as listed.
func (g *Group) grows(k int, want map[axisID]Grown) bool {
	found := 0
	for i, x := range g.axes {
		if g.c.a.axes[x.Axis].value.param == nil {
			continue
		}
		w, ok := want[x.Axis]
		if !ok {
			return false
		}
		found++
		if last := g.Atoms[len(g.Atoms)-1]; len(last.on(x.Axis)) > 0 && k > len(w.Index) {
			return false // each atom adds an index next to existing ones; the numbers of a file may be arbitrary
		}
		l := g.layout(i, k)
		if added := added(l); len(l.keep) != w.After || !slices.Equal(added.Index, w.Index) || !slices.Equal(added.Like, w.Like) {
			return false
		}
	}
	return found == len(want)
}

// Cut removes the given indices of initializers. They must be whole atoms, that is everything that can only be removed
// together; otherwise the edit fails.
func (e *Edit) Cut(cuts ...Cut) {
	c := e.Channels()
	if e.err != nil {
		return
	}
	want := map[axisID]map[int]bool{}
	for _, x := range cuts {
		v := e.g.values[x.Initializer]
		if v == nil {
			e.fail(&Error{Stage: "plan", Err: fmt.Errorf("the graph has no initializer %q", x.Initializer)})
			return
		}
		id, ok := c.a.of(v, x.Axis)
		if size := c.a.sizeOf(id, ok); !ok || x.Before != 0 && x.Before != size {
			e.fail(&Error{Stage: "plan", Input: x.Initializer, Err: fmt.Errorf("axis %d", x.Axis), Want: x.Before, Got: size})
			return
		}
		want[id] = map[int]bool{}
		for _, i := range x.Removed {
			want[id][i] = true
		}
	}
	e.cutExactly(c, want)
}

func (a *analysis) sizeOf(id axisID, ok bool) int {
	if !ok {
		return 0
	}
	return int(a.axes[id].size)
}

// cutExactly removes the atoms whose indices are all listed, and fails unless they cover the list.
func (e *Edit) cutExactly(c *Channels, want map[axisID]map[int]bool) {
	var atoms []*Atom
	done := map[axisID]map[int]bool{}
	for _, g := range c.groups {
		for _, a := range g.Atoms {
			if !a.within(want) {
				continue
			}
			atoms = append(atoms, a)
			for id, slots := range a.parts() {
				if done[id] == nil {
					done[id] = map[int]bool{}
				}
				for _, s := range slots {
					done[id][int(s-c.a.axes[id].first)] = true
				}
			}
		}
	}
	for id, set := range want {
		for i := range set {
			if !done[id][i] {
				x := c.a.axes[id]
				err := c.Fixed(x.value, x.axis)
				if err == nil {
					err = fmt.Errorf("it can only be removed together with indices that stay")
				}
				e.fail(&Error{Stage: "plan", Input: x.value.name, Err: fmt.Errorf("index %d of axis %d cannot be cut alone: %w", i, x.axis, err)})
				return
			}
		}
	}
	e.RemoveAtoms(atoms...)
}

// within reports whether all parameter indices of the atom are listed.
func (a *Atom) within(want map[axisID]map[int]bool) bool {
	for id, slots := range a.parts() {
		x := a.group.c.a.axes[id]
		if x.value.param == nil {
			continue
		}
		for _, s := range slots {
			if !want[id][int(s-x.first)] {
				return false
			}
		}
	}
	return true
}
