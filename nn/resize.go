package nn

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// ResizeOptions say how an axis gets another length. The zero value is exact, drops what has the
// smallest weights and adds channels that do not change what the model computes.
type ResizeOptions struct {
	// Axis of the value, negative from the back; 0: the channels, which are axis 1 or, where that is
	// fixed, the last one.
	Axis int
	// Near takes the nearest possible length when the wanted one cannot be met.
	Near bool
	// Utility says how much an atom matters; those below zero go even when fewer need to. nil: the
	// size of its weights.
	Utility func(*Atom) float64
	// Copy makes new channels copies of old ones and shares their users' weights among them;
	// otherwise they start at random and their users' weights at zero.
	Copy bool
	// NormalizedAxes allows axes that a normalization, a softmax or a mean runs over.
	NormalizedAxes bool
}

// Request asks for a length of an axis of a value.
type Request struct {
	Value    *Value
	Channels int
	ResizeOptions
}

// Resize gives a value another number of channels, with everything that hangs together with them.
func (e *Edit) Resize(v *Value, channels int, o ResizeOptions) {
	e.ResizeAll(Request{v, channels, o})
}

// SetChannels gives the output of a node a number of channels.
func (e *Edit) SetChannels(n *Node, channels int) { e.change(n, func(int) int { return channels }) }

// AddChannels adds channels to the output of a node; what the model computes stays.
func (e *Edit) AddChannels(n *Node, count int) {
	e.change(n, func(have int) int { return have + count })
}

// RemoveChannels removes the channels of the output of a node that matter least.
func (e *Edit) RemoveChannels(n *Node, count int) {
	e.change(n, func(have int) int { return have - count })
}

func (e *Edit) change(n *Node, to func(int) int) {
	if !e.has(n) {
		return
	}
	c := e.Channels()
	if e.err != nil {
		return
	}
	id, err := c.channelAxis(n.Out(0), 0)
	if err != nil {
		e.fail(err)
		return
	}
	e.Resize(n.Out(0), to(int(c.a.axes[id].size)), ResizeOptions{Axis: c.a.axes[id].axis})
}

// channelAxis is the axis that a request means.
func (c *Channels) channelAxis(v *Value, axis int) (axisID, error) {
	rank, ok := c.a.rank[v]
	if !ok || rank < 2 && axis == 0 {
		return 0, &Error{Stage: "resize", Node: v.Name(), Err: errors.New("has no channel axis")}
	}
	switch {
	case axis < 0:
		axis += rank
	case axis == 0:
		axis = 1
		if rank > 2 && c.Fixed(v, 1) != nil && c.Fixed(v, rank-1) == nil {
			axis = rank - 1
		}
	}
	id, ok := c.a.of(v, axis)
	if !ok {
		return 0, &Error{Stage: "resize", Node: v.Name(), Err: fmt.Errorf("has no axis %d", axis)}
	}
	return id, nil
}

// demand is a request on an axis.
type demand struct {
	Request
	axis axisID
	size int
}

// ResizeAll meets several requests at once: the exact ones first, those that may be met nearly
// after them. Each leaves alone what an exact one before it decided.
func (e *Edit) ResizeAll(list ...Request) {
	c := e.Channels()
	if e.err != nil {
		return
	}
	var ds []demand
	for _, r := range list {
		if !e.mine(r.Value) {
			return
		}
		id, err := c.channelAxis(r.Value, r.Axis)
		if err != nil {
			e.fail(err)
			return
		}
		d := demand{r, id, int(c.a.axes[id].size)}
		if d.Channels < 1 {
			e.fail(&Error{Stage: "resize", Node: r.Value.label(), Err: fmt.Errorf("%d channels are wanted of %d: at least one stays", d.Channels, d.size)})
			return
		}
		ds = append(ds, d)
	}
	sort.SliceStable(ds, func(i, j int) bool { return !ds[i].Near && ds[j].Near })
	s := &solver{c: c, decided: map[*Group]int{}, gone: map[*Atom]bool{}, added: map[*Group]int{}}
	copying := false
	for _, d := range ds {
		if err := s.solve(d); err != nil {
			e.fail(err)
			return
		}
		copying = copying || d.Copy
	}
	if len(s.gone) > 0 {
		var atoms []*Atom
		for _, g := range c.groups {
			for _, a := range g.Atoms {
				if s.gone[a] {
					atoms = append(atoms, a)
				}
			}
		}
		e.RemoveAtoms(atoms...)
	}
	e.widen(c, s, copying)
}

// solver decides how many atoms of which group go or come.
type solver struct {
	c       *Channels
	decided map[*Group]int // groups that an earlier request touched, by what they changed
	gone    map[*Atom]bool
	added   map[*Group]int
}

// offer is what a group can do for an axis.
type offer struct {
	group *Group
	per   int     // indices on the axis that an atom has
	order []*Atom // the least useful first
	lost  []float64
}

func (s *solver) solve(d demand) error {
	now := d.size
	for g, k := range s.decided {
		now += k * g.per(d.axis)
	}
	need := d.Channels - now
	best, found := []int(nil), false
	var offers []offer
	least := math.Inf(1)
	for _, backwards := range []bool{false, true} { // overlapping groups: heads, or features of heads
		o := s.offers(d, backwards)
		for off := 0; off <= d.size; off++ {
			var tries []int
			if off == 0 {
				tries = []int{need}
			} else if d.Near {
				tries = []int{need - off, need + off}
			}
			hit := false
			for _, n := range tries {
				k, lost, ok := fill(o, n)
				if ok && now+n >= 1 && (!found || float64(off)*1e12+lost < least) {
					best, offers, least, found = k, o, float64(off)*1e12+lost, true
				}
				hit = hit || ok
			}
			if hit || !d.Near {
				break
			}
		}
	}
	if !found {
		return s.refuse(d, need)
	}
	for i, k := range best {
		g := offers[i].group
		s.decided[g] += k
		for _, a := range offers[i].order[:max(-k, 0)] {
			s.gone[a] = true
		}
		if k > 0 {
			s.added[g] += k
		}
	}
	return nil
}

func (s *solver) refuse(d demand, need int) error {
	v := s.c.a.axes[d.axis]
	if err := s.c.Fixed(v.value, v.axis); err != nil {
		return err
	}
	steps := map[int]bool{}
	norm := false
	for _, g := range s.c.groups {
		if p := g.per(d.axis); p > 0 {
			norm = norm || g.Normalized
			if !g.Normalized || d.NormalizedAxes {
				steps[p] = true
			}
		}
	}
	if len(steps) == 0 && norm {
		return &Error{Stage: "resize", Node: v.value.label(), Err: fmt.Errorf("a normalization, a softmax or a mean runs over axis %d: changing it changes what the model computes, allow it with NormalizedAxes", v.axis)}
	}
	var list []int
	for k := range steps {
		list = append(list, k)
	}
	slices.Sort(list)
	return &Error{Stage: "resize", Node: v.value.label(), Err: fmt.Errorf("axis %d cannot go from %d to %d: channels come in sets of %v, one set stays", v.axis, d.size, d.Channels, list)}
}

// per is how many indices of an axis an atom has.
func (g *Group) per(id axisID) int { return g.on[id] }

// offers lists groups on the axis that do not overlap.
func (s *solver) offers(d demand, backwards bool) []offer {
	now := d.size
	for g, k := range s.decided {
		now += k * g.per(d.axis)
	}
	ranked := d.Near || d.Channels < now // else none goes, and which matters least is of no interest
	var list []offer
	taken := map[int32]bool{}
	groups := slices.Clone(s.c.groups)
	if backwards {
		slices.Reverse(groups)
	}
	for _, g := range groups {
		per := g.per(d.axis)
		if _, done := s.decided[g]; per == 0 || done || g.Normalized && !d.NormalizedAxes {
			continue
		}
		free := true
		var on []int32
		x := s.c.a.axes[d.axis]
		for _, a := range g.Atoms {
			for _, e := range a.slots {
				if e >= x.first && e < x.first+x.size {
					on = append(on, e)
					free = free && !taken[e]
				}
			}
		}
		if !free {
			continue
		}
		for _, e := range on {
			taken[e] = true
		}
		if ranked {
			list = append(list, s.offer(g, per, d))
		} else {
			list = append(list, offer{group: g, per: per, order: g.Atoms, lost: make([]float64, len(g.Atoms)+1)})
		}
	}
	return list
}

func (s *solver) offer(g *Group, per int, d demand) offer {
	o := offer{group: g, per: per, order: slices.Clone(g.Atoms)}
	use := d.Utility
	if use == nil {
		use = magnitude(g)
	}
	u := map[*Atom]float64{}
	for _, a := range g.Atoms {
		u[a] = use(a)
	}
	sort.SliceStable(o.order, func(i, j int) bool { return u[o.order[i]] < u[o.order[j]] })
	sum := 0.0
	o.lost = []float64{0}
	for _, a := range o.order {
		sum += u[a]
		o.lost = append(o.lost, sum)
	}
	return o
}

// magnitude is the L2 norm of an atom's weights.
func magnitude(g *Group) func(*Atom) float64 {
	sums := map[axisID][]float64{}
	for _, x := range g.axes {
		c := g.c.a.axes[x.axis]
		if p := c.value.param; p != nil && p.Data != nil && p.Role() == Weight {
			sums[x.axis] = squaresOf(p.Data, c.axis)
		}
	}
	return func(a *Atom) float64 {
		total, i := 0.0, 0
		for _, x := range g.axes {
			if s := sums[x.axis]; s != nil {
				for _, e := range a.slots[i : i+x.count] {
					total += s[e-g.c.a.axes[x.axis].first]
				}
			}
			i += x.count
		}
		return math.Sqrt(total)
	}
}

// squaresOf are the sums of the squares along an axis; nil where a tensor holds no numbers.
func squaresOf(d *tensor.Dense, axis int) []float64 {
	switch dtype.Of(d.Dtype()) {
	case dtype.Float32:
		return squares(dtype.Slice[float32](d), d.Shape(), axis)
	case dtype.Float64:
		return squares(dtype.Slice[float64](d), d.Shape(), axis)
	}
	w, err := dtype.Float64s(d)
	if err != nil {
		return nil
	}
	return squares(w, d.Shape(), axis)
}

func squares[F float32 | float64](w []F, shape []int, axis int) []float64 {
	inner := 1
	for _, n := range shape[axis+1:] {
		inner *= n
	}
	out := make([]float64, shape[axis])
	for len(w) > 0 {
		for i := range out {
			sum := 0.0
			for _, x := range w[:inner] {
				sum += float64(x) * float64(x)
			}
			out[i] += sum
			w = w[inner:]
		}
	}
	return out
}

// fill chooses how many atoms of each offer go (negative) or come so that the axis changes by
// need, with the smallest loss. One atom of each group stays.
func fill(list []offer, need int) ([]int, float64, bool) {
	n, sign := need, 1
	if need < 0 {
		n, sign = -need, -1
	}
	type cell struct {
		lost float64
		k    int
		ok   bool
	}
	table := make([][]cell, len(list)+1)
	table[0] = make([]cell, n+1)
	table[0][0].ok = true
	for i, o := range list {
		row := make([]cell, n+1)
		most := len(o.order) - 1
		if sign > 0 {
			most = n
		}
		for at := range row {
			for k := 0; k <= most && k*o.per <= at; k++ {
				prev := table[i][at-k*o.per]
				if !prev.ok {
					continue
				}
				lost := prev.lost + float64(k)/float64(len(o.order)+1)
				if sign < 0 {
					lost = prev.lost + o.lost[k]
				}
				if c := &row[at]; !c.ok || lost < c.lost {
					*c = cell{lost, k, true}
				}
			}
		}
		table[i+1] = row
	}
	if !table[len(list)][n].ok {
		return nil, 0, false
	}
	out := make([]int, len(list))
	at := n
	for i := len(list) - 1; i >= 0; i-- {
		k := table[i+1][at].k
		out[i] = sign * k
		at -= k * list[i].per
	}
	return out, table[len(list)][n].lost, true
}
