package nn

import (
	"fmt"
	"slices"
	"strings"
)

// share is a group of channels that can help to balance an open edge.
type share struct {
	offer
	in, out int  // indices per atom before and after the gap
	ends    bool // the group has the last index after the gap, where new ones are appended
}

// pull returns the change of the difference of the two lengths per added atom.
func (s share) pull() int { return s.in - s.out }

// weight returns the number of indices per atom.
func (s share) weight() float64 { return float64(max(s.in, s.out)) }

// balance resizes both sides of a gap so that their lengths agree, the way that o prefers.
func (e *Edit) balance(g splitEdge, o Realign) {
	c := e.Channels()
	if e.err != nil {
		return
	}
	in, ok1 := c.a.of(g.near(), g.axis)
	out, ok2 := c.a.of(g.far(), g.axis)
	if !ok1 || !ok2 {
		e.fail(&Error{Stage: "realign", Node: g.near().label(), Err: fmt.Errorf("the length of axis %d is not known", g.axis)})
		return
	}
	need := int(c.a.axes[out].size - c.a.axes[in].size)
	if need == 0 {
		return
	}
	var tried error
	for _, allowed := range o.Prefer.passes() {
		for _, backwards := range []bool{false, true} { // where groups overlap: heads, or features of heads
			list := c.shares(in, out, o, backwards)
			k, ok := meet(list, need, allowed)
			if !ok {
				continue
			}
			err := e.Try(func() { e.regroup(c, list, k) })
			if err == nil {
				e.noteBalance(g, c, in, out)
				return
			}
			tried = err
		}
	}
	e.fail(c.unbalanced(g, in, out, o, tried))
}

// noteBalance records what was realigned.
func (e *Edit) noteBalance(g splitEdge, c *Channels, in, out axisID) {
	now := g.near().typ.Shape[g.axis].Size
	e.Note("realigned axis %d of %s: length %d before it and %d after it became %d", g.axis, g.near().label(), c.a.axes[in].size, c.a.axes[out].size, now)
}

// passes lists the rules to try, in order: which groups may change, in which direction.
func (p Prefer) passes() []func(s share, grow bool) bool {
	grow := func(_ share, grow bool) bool { return grow }
	shrink := func(_ share, grow bool) bool { return !grow }
	before := func(s share, _ bool) bool { return s.out == 0 }
	after := func(s share, _ bool) bool { return s.in == 0 }
	any := func(share, bool) bool { return true }
	switch p {
	case PreferShrink:
		return []func(share, bool) bool{shrink, grow, any}
	case PreferBefore:
		return []func(share, bool) bool{before, grow, shrink, any}
	case PreferAfter:
		return []func(share, bool) bool{after, grow, shrink, any}
	}
	return []func(share, bool) bool{grow, shrink, any}
}

// shares lists the groups on either side that do not overlap.
func (c *Channels) shares(in, out axisID, o Realign, backwards bool) []share {
	groups := slices.Clone(c.groups)
	if backwards {
		slices.Reverse(groups)
	}
	s := &solver{c: c}
	d := demand{Request: Request{ResizeOptions: ResizeOptions{Utility: o.Utility}}}
	last := c.a.axes[out].first + c.a.axes[out].size - 1
	taken := map[int32]bool{}
	var list []share
	for _, g := range groups {
		x := share{in: g.per(in), out: g.per(out)}
		if x.in == 0 && x.out == 0 || g.Normalized && !o.NormalizedAxes {
			continue
		}
		if !g.claim(taken, in, out) {
			continue
		}
		x.ends = slices.ContainsFunc(g.Atoms, func(a *Atom) bool { return slices.Contains(a.on(out), last) })
		x.offer = s.offer(g, max(x.in, x.out), d)
		list = append(list, x)
	}
	return list
}

// meet chooses the number of atoms of each group to add (positive) or remove so that the pulls add up
// to need, changing as few channels as possible, the least important ones. Each group keeps at least
// one atom.
func meet(list []share, need int, allowed func(s share, grow bool) bool) ([]int, bool) {
	reach := 2*max(need, -need) + 64
	type cell struct {
		cost float64
		k    int
		ok   bool
	}
	all := 1e-30 // not to divide by zero
	for _, s := range list {
		all += s.Lost[len(s.Lost)-1]
	}
	cost := func(s share, k int) float64 {
		if k < 0 {
			return float64(-k)*s.weight() + s.Lost[-k]/all*float64(reach)
		}
		c := float64(k) * (s.weight() + 1e-3/float64(len(s.order)+1))
		if s.ends {
			c -= float64(k) * 1e-2
		}
		return c
	}
	table := make([][]cell, len(list)+1)
	table[0] = make([]cell, 2*reach+1)
	table[0][reach] = cell{ok: true}
	for i, s := range list {
		row := slices.Clone(table[i])
		for j := range row {
			row[j].k = 0
		}
		if pull := s.pull(); pull != 0 {
			grow, shrink := allowed(s, true), allowed(s, false)
			step := max(pull, -pull)
			for at, from := range table[i] {
				if !from.ok {
					continue
				}
				for j := at % step; j < len(row); j += step {
					k := (j - at) / pull
					if k > 0 && !grow || k < 0 && (!shrink || -k >= len(s.order)) {
						continue
					}
					if c := from.cost + cost(s, k); !row[j].ok || c < row[j].cost {
						row[j] = cell{c, k, true}
					}
				}
			}
		}
		table[i+1] = row
	}
	at := reach + need
	if !table[len(list)][at].ok {
		return nil, false
	}
	k := make([]int, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		k[i] = table[i+1][at].k
		at -= k[i] * list[i].pull()
	}
	return k, true
}

// regroup removes or adds the chosen numbers of atoms. New channels before the gap start at zero, because the weights that
// read them were trained for other channels.
func (e *Edit) regroup(c *Channels, list []share, k []int) {
	var gone []*Atom
	added, quiet := map[*Group]int{}, map[*Group]bool{}
	for i, s := range list {
		gone = append(gone, s.order[:max(-k[i], 0)]...)
		added[s.group], quiet[s.group] = max(k[i], 0), s.out == 0
	}
	e.RemoveAtoms(gone...)
	e.grow(c, added, quiet, false)
	if e.err == nil {
		if err := e.infer(); err != nil {
			e.fail(err)
		}
	}
}

// unbalanced returns the reason why the two sides of a gap cannot agree.
func (c *Channels) unbalanced(g splitEdge, in, out axisID, o Realign, tried error) error {
	var why []string
	for _, id := range []axisID{in, out} {
		x := c.a.axes[id]
		if err := c.Fixed(x.value, x.axis); err != nil {
			why = append(why, strings.TrimPrefix(err.Error(), "resize: "))
		}
	}
	cycle, normalized := false, false
	for _, x := range c.groups {
		cycle = cycle || x.per(in) > 0 && x.per(out) > 0
		normalized = normalized || x.Normalized && !o.NormalizedAxes && x.per(in)+x.per(out) > 0
	}
	switch {
	case cycle:
		why = append(why, "they depend on each other (a size cycle): what changes on one side changes on the other")
	case normalized:
		why = append(why, "a normalization, a softmax or a mean runs over the axis: allow it with NormalizedAxes")
	case tried != nil:
		why = append(why, tried.Error())
	case len(why) == 0:
		why = append(why, "channels come in sets whose sizes do not fit, and at least one set must stay")
	}
	return &Error{Stage: "realign", Node: g.near().label(), Err: fmt.Errorf("axis %d has length %d where %d is expected, and the sizes cannot be made to agree: %s",
		g.axis, c.a.axes[in].size, c.a.axes[out].size, strings.Join(why, "; "))}
}

// cutAfter removes exactly the marked indices after a split edge, if they form whole atoms and nothing before it would be
// removed with them.
func (e *Edit) cutAfter(g splitEdge, gone []bool) bool {
	c := e.Channels()
	if e.err != nil {
		return false
	}
	in, ok1 := c.a.of(g.near(), g.axis)
	out, ok2 := c.a.of(g.far(), g.axis)
	if !ok1 || !ok2 {
		return false
	}
	x := c.a.axes[out]
	covered := make([]bool, len(gone))
	var atoms []*Atom
	for _, gr := range c.groups {
		if gr.per(out) == 0 || gr.per(in) > 0 || gr.Normalized {
			continue
		}
		for _, a := range gr.Atoms {
			fits := true
			var at []int
			for _, s := range a.on(out) {
				i := int(s - x.first)
				at = append(at, i)
				fits = fits && gone[i] && !covered[i]
			}
			if !fits {
				continue
			}
			atoms = append(atoms, a)
			for _, i := range at {
				covered[i] = true
			}
		}
	}
	if !slices.Equal(covered, gone) {
		return false
	}
	return e.Try(func() { e.RemoveAtoms(atoms...) }) == nil
}
