package nn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// MarshalJSON writes {"model", "version", "applied", "steps", "notes", "cuts", "resizes", "before", "after"}. cuts holds
// every index removed from every initializer, by the names and indices of the model that the plan was made for. A plan
// that adds channels also has resizes: the single changes in order, with indices as of each, from which ReadPlan repeats
// them.
func (p *Plan) MarshalJSON() ([]byte, error) {
	if err := p.made(); err != nil {
		return nil, err
	}
	defer p.g.entered().unlock()
	type file struct {
		Model   string   `json:"model"`
		Version int      `json:"version"`
		Applied bool     `json:"applied"`
		Joined  bool     `json:"joined,omitempty"` // made by Join
		Steps   []string `json:"steps"`
		Notes   []string `json:"notes,omitempty"`
		Cuts    []Cut    `json:"cuts,omitempty"`
		Resizes []resize `json:"resizes,omitempty"`
		Before  *Cost    `json:"before,omitempty"`
		After   *Cost    `json:"after,omitempty"`
	}
	f := file{p.g.name, p.version, p.applied, p.joined, p.Steps(), p.notes, p.Cuts(), nil, nil, nil}
	if list := resizes(p.cuts); slices.ContainsFunc(list, func(r resize) bool { return r.Grow != nil }) {
		f.Resizes = list
	}
	if len(p.saved) > 0 {
		before, after := p.Cost()
		f.Before, f.After = &before, &after
	}
	return json.Marshal(f)
}

// Cuts returns what the plan removes from initializers: one entry for each axis that loses indices, numbered as in the
// model that the plan was made for. After includes what the plan adds.
func (p *Plan) Cuts() []Cut {
	type place struct {
		name string
		axis int
	}
	var list []Cut
	var left [][]int // for each entry, the first index after each remaining one; -1: new
	at := map[place]int{}
	for _, c := range p.cuts {
		i, ok := at[place{c.Initializer, c.Axis}]
		if !ok {
			i = len(list)
			at[place{c.Initializer, c.Axis}] = i
			list, left = append(list, c), append(left, c.keep)
			continue
		}
		now := make([]int, len(c.keep))
		for k, old := range c.keep {
			now[k] = -1
			if old >= 0 && old < len(left[i]) {
				now[k] = left[i][old]
			}
		}
		left[i], list[i].After = now, c.After
		list[i].Removed = missing(now, list[i].Before)
	}
	return slices.DeleteFunc(list, func(c Cut) bool { return len(c.Removed) == 0 })
}

// String lists the changes, one on each line: layer, axis, length before → after, and what is saved.
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
