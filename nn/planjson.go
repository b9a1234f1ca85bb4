package nn

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// MarshalJSON writes {"model", "version", "applied", "steps", "notes", "cuts", "before", "after"}.
// cuts holds every index removed from every initializer, by the names and indices of the model
// that the plan was made for.
func (p *Plan) MarshalJSON() ([]byte, error) {
	type file struct {
		Model   string   `json:"model"`
		Version int      `json:"version"`
		Applied bool     `json:"applied"`
		Steps   []string `json:"steps"`
		Notes   []string `json:"notes,omitempty"`
		Cuts    []Cut    `json:"cuts,omitempty"`
		Before  *Cost    `json:"before,omitempty"`
		After   *Cost    `json:"after,omitempty"`
	}
	f := file{p.g.Name, p.version, p.applied, p.Steps(), p.notes, p.Cuts(), nil, nil}
	if len(p.saved) > 0 {
		before, after := p.Cost()
		f.Before, f.After = &before, &after
	}
	return json.Marshal(f)
}

// Cuts are what the plan takes from initializers, by the indices of the model that the plan was
// made for: one entry for each axis that changes.
func (p *Plan) Cuts() []Cut {
	var list []Cut
	at := map[string]int{}
	for _, c := range p.cuts {
		key := fmt.Sprintf("%s\x00%d", c.Initializer, c.Axis)
		i, ok := at[key]
		if !ok {
			at[key] = len(list)
			list = append(list, c)
			continue
		}
		list[i] = list[i].then(c)
	}
	return list
}

// then is the cut that does c first and next afterwards.
func (c Cut) then(next Cut) Cut {
	stays := stay(c.Removed, c.Before)
	c.Removed = slices.Clone(c.Removed)
	for _, k := range next.Removed {
		if k < len(stays) {
			c.Removed = append(c.Removed, stays[k])
		}
	}
	slices.Sort(c.Removed)
	c.After = next.After
	return c
}

// stay lists the indices below n that are not removed.
func stay(removed []int, n int) []int {
	gone := make([]bool, n)
	for _, i := range removed {
		gone[i] = true
	}
	var list []int
	for i, g := range gone {
		if !g {
			list = append(list, i)
		}
	}
	return list
}

// ReadPlan reads what MarshalJSON wrote and tries its cuts on g, whose initializers must have
// the names and lengths that the plan was made for. Only cuts are replayed.
func ReadPlan(g *Graph, r io.Reader) (*Plan, error) {
	var f struct {
		Cuts []Cut `json:"cuts"`
	}
	d := json.NewDecoder(io.LimitReader(r, 1<<30))
	if err := d.Decode(&f); err != nil {
		return nil, &Error{Stage: "plan", Err: err}
	}
	if len(f.Cuts) == 0 {
		return nil, &Error{Stage: "plan", Err: fmt.Errorf("has no cuts")}
	}
	return g.Plan(func(e *Edit) { e.Cut(f.Cuts...) })
}

// Cut removes the given indices of initializers. They must be whole atoms: everything that hangs
// together, or nothing is done.
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

// cutExactly removes the atoms that lie within the wanted indices and fails unless they are all of them.
func (e *Edit) cutExactly(c *Channels, want map[axisID]map[int]bool) {
	var atoms []*Atom
	done := map[axisID]map[int]bool{}
	for _, g := range c.groups {
		for _, a := range g.Atoms {
			if !a.within(want) {
				continue
			}
			atoms = append(atoms, a)
			i := 0
			for _, x := range g.axes {
				if done[x.axis] == nil {
					done[x.axis] = map[int]bool{}
				}
				for _, s := range a.slots[i : i+x.count] {
					done[x.axis][int(s-c.a.axes[x.axis].first)] = true
				}
				i += x.count
			}
		}
	}
	for id, set := range want {
		for i := range set {
			if !done[id][i] {
				x := c.a.axes[id]
				err := c.Fixed(x.value, x.axis)
				if err == nil {
					err = fmt.Errorf("it hangs together with indices that stay")
				}
				e.fail(&Error{Stage: "plan", Input: x.value.name, Err: fmt.Errorf("index %d of axis %d cannot be cut alone: %w", i, x.axis, err)})
				return
			}
		}
	}
	e.RemoveAtoms(atoms...)
}

// within says whether all parameter indices of the atom are wanted.
func (a *Atom) within(want map[axisID]map[int]bool) bool {
	i := 0
	c := a.group.c
	for _, x := range a.group.axes {
		slots := a.slots[i : i+x.count]
		i += x.count
		ax := c.a.axes[x.axis]
		if ax.value.param == nil {
			continue
		}
		set := want[x.axis]
		if set == nil {
			return false
		}
		for _, s := range slots {
			if !set[int(s-ax.first)] {
				return false
			}
		}
	}
	return true
}

// String lists the changes, one a line: layer, axis, before → after, and what is saved.
func (p *Plan) String() string {
	steps := append(p.Steps(), p.notes...)
	if len(p.saved) > 0 {
		before, after := p.Cost()
		steps = append(steps, fmt.Sprintf("parameters %s → %s (%s), multiply-adds %s → %s (%s)",
			group(int64(before.Params)), group(int64(after.Params)), change(int64(before.Params), int64(after.Params)),
			group(before.MACs), group(after.MACs), change(before.MACs, after.MACs)))
	}
	if len(steps) == 0 {
		return "nothing to change"
	}
	return strings.Join(steps, "\n")
}

func change(before, after int64) string {
	if before == 0 {
		return "±0 %"
	}
	return fmt.Sprintf("%+.1f %%", 100*float64(after-before)/float64(before))
}
