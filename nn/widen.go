package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// widen adds atoms as a solver decided.
func (e *Edit) widen(c *Channels, s *solver, copying bool) { e.grow(c, s.added, nil, copying) }

// grow adds atoms to groups: each is put behind the last one of its group, on every axis. Rows that
// compute new channels of a quiet group start at zero. The graph may have been cut since c was
// made, so the groups are looked up again by their axes.
func (e *Edit) grow(c *Channels, added map[*Group]int, quiet map[*Group]bool, copying bool) {
	for _, g := range c.groups {
		k := added[g]
		if k == 0 || e.err != nil {
			continue
		}
		now := e.Channels()
		if e.err != nil {
			return
		}
		if same := now.like(g); same != nil {
			e.widenGroup(now, same, k, growth{copying: copying, zero: quiet[g]})
			continue
		}
		e.Failf("a group of channels cannot be found again")
	}
}

// like finds the group on the same axes as one of an earlier analysis.
func (c *Channels) like(g *Group) *Group {
	for _, x := range c.groups {
		if len(x.axes) != len(g.axes) {
			continue
		}
		count := map[string]int{}
		for i, a := range x.axes {
			p, q := c.a.axes[a.axis], g.c.a.axes[g.axes[i].axis]
			count[fmt.Sprintf("%p %d %d", p.value, p.axis, a.count)]++
			count[fmt.Sprintf("%p %d %d", q.value, q.axis, g.axes[i].count)]--
		}
		ok := true
		for _, k := range count {
			ok = ok && k == 0
		}
		if ok {
			return x
		}
	}
	return nil
}

// layout is a new order of an axis: old indices, −1 for new ones, and which old one each copies.
type layout struct {
	keep, like []int
}

func (e *Edit) widenGroup(c *Channels, g *Group, k int, how growth) {
	last := g.Atoms[len(g.Atoms)-1]
	keep := map[axisID][]int{}
	plans := map[axisID]layout{}
	i := 0
	for _, x := range g.axes {
		a := c.a.axes[x.axis]
		l := stretch(int(a.size), int(a.first), last.slots[i:i+x.count], k)
		i += x.count
		plans[x.axis], keep[x.axis] = l, l.keep
	}
	before, _ := e.cost()
	how.zero, how.copies = how.zero || c.contracted(g), k
	how.copying = how.copying && !how.zero // copies of queries and keys would count twice
	for _, rows := range []bool{true, false} {
		for _, x := range g.axes {
			a := c.a.axes[x.axis]
			if g.makesAxis(x.axis) != rows {
				continue
			}
			switch v := a.value; {
			case v.param != nil:
				how.rows = rows
				e.growParam(v.param, a.axis, plans[x.axis], how)
			case c.a.leaf[v]:
				e.cutConstant(v, a.axis, copied(plans[x.axis]))
			}
		}
	}
	f := &follower{e: e, c: c, keep: keep}
	f.run()
	if e.err != nil {
		return
	}
	if err := e.g.infer(); err != nil {
		e.fail(err)
		return
	}
	now, _ := e.cost()
	e.saved = append(e.saved, [2]Cost{before, now})
	after := e.g.channels()
	if x := after.like(g); x == nil || len(x.Atoms) != len(g.Atoms)+k {
		e.fail(&Error{Stage: "resize", Err: fmt.Errorf("%s cannot grow: its indices would not hang together", after.a.g.Name)})
	}
}

func copied(l layout) []int {
	out := slices.Clone(l.keep)
	for i, x := range out {
		if x < 0 {
			out[i] = l.like[i]
		}
	}
	return out
}

// stretch puts k copies behind every run of the given elements.
func stretch(size, first int, slots []int32, k int) layout {
	at := map[int]bool{}
	for _, s := range slots {
		at[int(s)-first] = true
	}
	var l layout
	var run []int
	for i := range size {
		l.keep, l.like = append(l.keep, i), append(l.like, i)
		if at[i] {
			run = append(run, i)
		}
		if at[i] && !at[i+1] {
			for range k {
				for _, r := range run {
					l.keep, l.like = append(l.keep, -1), append(l.like, r)
				}
			}
			run = nil
		}
	}
	return l
}

// makesAxis says whether indices of the axis are rows that compute channels, not columns that read them.
func (g *Group) makesAxis(id axisID) bool {
	x := g.c.a.axes[id]
	for _, n := range x.value.users {
		if n.opType == "LSTM" || n.opType == "GRU" || n.opType == "RNN" {
			return !(x.axis == 2 && (n.In(1) == x.value || n.In(2) == x.value))
		}
		for _, o := range g.c.a.tied(id, n) {
			y := g.c.a.axes[o]
			if slices.Contains(n.out, y.value) && (!n.derives() || g.makesAxis(o)) {
				return true
			}
		}
	}
	return false
}

// tied lists the axes that a node ties to one of its own.
func (a *analysis) tied(id axisID, n *Node) []axisID {
	var list []axisID
	for _, set := range [][]relation{a.rel, a.norm} {
		for _, r := range set {
			switch {
			case r.node != n:
			case r.a == id:
				list = append(list, r.b)
			case r.b == id:
				list = append(list, r.a)
			}
		}
	}
	for _, s := range a.splits {
		if s.node != n {
			continue
		}
		for i := range s.factors {
			if s.factors[i].holds(id) {
				for _, p := range s.factors[i].parts {
					if p.axis != id {
						list = append(list, p.axis)
					}
				}
			}
		}
	}
	return list
}

// contracted says whether the group's indices are summed over between two computed values, as
// queries and keys are: new ones must then be zero.
func (c *Channels) contracted(g *Group) bool {
	for _, r := range c.a.rel {
		x, y := c.a.axes[r.a].value, c.a.axes[r.b].value
		if g.per(r.a) == 0 || g.per(r.b) == 0 || x.param != nil || y.param != nil || slices.Contains(r.node.out, x) || slices.Contains(r.node.out, y) {
			continue
		}
		if x.producer != nil && y.producer != nil && !x.producer.derives() && !y.producer.derives() {
			return true
		}
	}
	return false
}

// growth says what new indices of a parameter hold.
type growth struct {
	rows    bool // they compute channels
	copying bool
	copies  int
	zero    bool
}

func (e *Edit) growParam(p *Param, axis int, l layout, how growth) {
	e.cutParam(p, axis, l.keep)
	if e.err != nil || !dtype.Of(p.Data.Dtype()).IsFloat() {
		return
	}
	d := p.Data
	x, err := dtype.Float64s(d)
	if err != nil {
		e.fail(err)
		return
	}
	rng := e.random(p.Name() + " widened")
	start, spread := p.startsAt(), math.Sqrt(meanSquare(x)+1e-12)
	each(d.Shape(), axis, func(i, k int, old func(int) int) {
		if l.keep[k] >= 0 {
			if how.copying && !how.rows && repeated(l, k) {
				x[i] /= float64(how.copies + 1)
			}
			return
		}
		like := x[old(slices.Index(l.keep, l.like[k]))]
		switch {
		case how.copying && how.rows:
			x[i] = like
		case how.copying:
			x[i] = like // its model was divided before, for it stands in front
		case !how.rows || how.zero && start == startRandom:
			x[i] = 0
		case start == startOne:
			x[i] = 1
		case start == startLike:
			x[i] = like
		case start == startRandom:
			x[i] = rng.NormFloat64() * spread
		}
	})
	now, err := dtype.FromFloats(dtype.Of(d.Dtype()), x, d.Shape()...)
	if err != nil {
		e.fail(err)
		return
	}
	e.fillParam(p, now)
}

// fillParam sets the elements of a parameter whose change of shape is in the journal already.
func (e *Edit) fillParam(p *Param, d *tensor.Dense) {
	old := p.Data
	e.act(action{do: func() { p.Data = d }, undo: func() { p.Data = old }})
}

func repeated(l layout, k int) bool {
	for j := k + 1; j < len(l.keep); j++ {
		if l.keep[j] < 0 && l.like[j] == l.keep[k] {
			return true
		}
	}
	return false
}

func meanSquare(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v * v
	}
	return s / float64(max(len(x), 1))
}

// each visits the elements of a tensor with their index on an axis; old gives the element at
// another index of it.
func each(shape []int, axis int, f func(i, k int, old func(int) int)) {
	inner := 1
	for _, n := range shape[axis+1:] {
		inner *= n
	}
	n := shape[axis]
	total := 1
	for _, d := range shape {
		total *= d
	}
	for i := range total {
		k := i / inner % n
		f(i, k, func(j int) int { return i + (j-k)*inner })
	}
}

type start int

const (
	startZero start = iota
	startOne
	startLike
	startRandom
)

// startsAt is what a new row of a parameter starts as, by what its reader does with it.
func (p *Param) startsAt() start {
	for _, n := range p.value.users {
		switch n.opType {
		case "BatchNormalization", "InstanceNormalization", "GroupNormalization", "LayerNormalization", "RMSNormalization":
			if n.In(1) == p.value || n.In(4) == p.value {
				return startOne
			}
			return startZero
		case "Add", "Sub", "Sum":
			return startZero
		case "Conv", "ConvTranspose", "Gemm":
			if n.In(2) == p.value {
				return startZero
			}
			return startRandom
		case "LSTM", "GRU", "RNN":
			if n.In(1) == p.value || n.In(2) == p.value {
				return startRandom
			}
			return startZero
		case "Mul", "Div", "PRelu", "Pow":
			return startLike
		}
	}
	if len(p.Data.Shape()) > 1 {
		return startRandom
	}
	return startZero
}
