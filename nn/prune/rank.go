package prune

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// ranking is every atom that may go, the least important first.
type ranking struct {
	p      Pruner
	groups []*nn.Group
	order  [][]int // of each group: its atoms, the least important first
	queue  []entry // over all groups
}

type entry struct {
	group int
	score float64
}

// rank scores the groups.
func (p Pruner) rank(ctx context.Context, g *nn.Graph, groups []*nn.Group) (*ranking, error) {
	by := p.By
	if by == nil {
		by = L2
	}
	r := &ranking{p: p, groups: groups}
	for i, x := range groups {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s, err := by.Score(ctx, g, x)
		if err != nil {
			return nil, err
		}
		if len(s) != len(x.Atoms) {
			return nil, fail("the criterion gave %d scores for %d atoms", len(s), len(x.Atoms))
		}
		order := make([]int, len(s))
		for k := range order {
			order[k] = k
			if math.IsNaN(s[k]) {
				return nil, fail("the criterion gave no number for %s", describe(x))
			}
		}
		sort.SliceStable(order, func(a, b int) bool { return s[order[a]] < s[order[b]] })
		r.order = append(r.order, order)
		scaled := p.Scale.apply(s)
		for k, at := range order {
			e := entry{i, scaled[at]}
			if p.PerLayer {
				e.score = float64(k) / float64(len(order))
			}
			r.queue = append(r.queue, e)
		}
	}
	sort.SliceStable(r.queue, func(a, b int) bool { return r.queue[a].score < r.queue[b].score })
	return r, nil
}

// first is what goes when k atoms of the queue are asked for: limits and rounding applied.
func (r *ranking) first(k int) []*nn.Atom {
	count := make([]int, len(r.groups))
	for _, e := range r.queue[:k] {
		count[e.group]++
	}
	var list []*nn.Atom
	for i, n := range count {
		x := r.groups[i]
		n = r.round(x, min(n, r.most(x)))
		for _, at := range r.order[i][:n] {
			list = append(list, x.Atoms[at])
		}
	}
	return list
}

// most is how many atoms of a group may go.
func (r *ranking) most(x *nn.Group) int {
	n := len(x.Atoms) - 1
	if r.p.Most > 0 {
		n = min(n, int(r.p.Most*float64(len(x.Atoms))))
	}
	return n
}

// round lowers the number of atoms that go until what stays is a multiple of RoundTo.
func (r *ranking) round(x *nn.Group, n int) int {
	if r.p.RoundTo < 2 {
		return n
	}
	per := 0
	for _, a := range x.Params() {
		if per == 0 || a.PerAtom < per {
			per = a.PerAtom
		}
	}
	unit := r.p.RoundTo / gcd(r.p.RoundTo, max(per, 1))
	for n > 0 && (len(x.Atoms)-n)%unit != 0 {
		n--
	}
	return n
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// reach finds the smallest cut that comes closest to the target.
func (r *ranking) reach(ctx context.Context, g *nn.Graph, c *nn.Channels, t Target) ([]*nn.Atom, error) {
	clock := &stopwatch{g: g}
	share, err := r.measure(ctx, c, t, nil, clock)
	if err != nil {
		return nil, err
	}
	lo, hi := 0, len(r.queue)
	best, least := r.first(0), math.Abs(share)
	for lo <= hi {
		k := (lo + hi) / 2
		atoms := r.first(k)
		over, err := r.measure(ctx, c, t, atoms, clock)
		if err != nil {
			return nil, err
		}
		if d := math.Abs(over); d < least || d == least && over <= 0 {
			best, least = atoms, d
		}
		if over > 0 {
			lo = k + 1
		} else {
			hi = k - 1
		}
	}
	if over, err := r.measure(ctx, c, t, best, clock); err != nil || over > 0.1 {
		if err == nil {
			err = fmt.Errorf("the target is out of reach: at best %.0f %% over it", 100*over)
		}
		return nil, err
	}
	return best, nil
}

// measure is by which share of the whole the strictest target is missed; negative: it is met.
func (r *ranking) measure(ctx context.Context, c *nn.Channels, t Target, gone []*nn.Atom, clock *stopwatch) (float64, error) {
	over := math.Inf(-1)
	miss := func(target, whole, rest float64) {
		if target > 0 && whole > 0 {
			over = max(over, (rest-target*whole)/whole)
		}
	}
	whole, rest := c.Cost(nil), c.Cost(gone)
	miss(t.Channels, float64(len(r.queue)), float64(len(r.queue)-len(gone)))
	miss(t.Params, float64(whole.Params), float64(rest.Params))
	miss(t.MACs, float64(whole.MACs), float64(rest.MACs))
	if t.Time > 0 {
		a, err := clock.run(ctx, nil)
		if err != nil {
			return 0, err
		}
		b, err := clock.run(ctx, gone)
		if err != nil {
			return 0, err
		}
		miss(t.Time, a.Seconds(), b.Seconds())
	}
	return over, nil
}

// stopwatch measures runs of a model, or of a copy of it that was cut.
type stopwatch struct {
	g     *nn.Graph
	whole time.Duration
}

func (s *stopwatch) run(ctx context.Context, gone []*nn.Atom) (time.Duration, error) {
	if len(gone) == 0 && s.whole > 0 {
		return s.whole, nil
	}
	g := s.g
	if len(gone) > 0 {
		plan, err := s.g.Plan(func(e *nn.Edit) { e.RemoveAtoms(gone...) })
		if err != nil {
			return 0, err
		}
		g = s.g.Clone()
		if err := g.Edit(func(e *nn.Edit) { e.Cut(plan.Cuts()...) }); err != nil {
			return 0, err
		}
	}
	d, err := fastest(ctx, g)
	if len(gone) == 0 {
		s.whole = d
	}
	return d, err
}

// fastest is the shortest of several runs on zeros, after one to warm up.
func fastest(ctx context.Context, g *nn.Graph) (time.Duration, error) {
	var in []*tensor.Dense
	for _, v := range g.Inputs() {
		t := v.Type()
		shape := t.Sizes()
		for i := range shape {
			if shape[i] < 1 {
				shape[i] = 1
			}
		}
		in = append(in, dtype.New(t.DType, shape...))
	}
	var all []time.Duration
	for range 8 {
		start := time.Now()
		if _, err := g.Run(ctx, in...); err != nil {
			return 0, fail("measuring: %w", err)
		}
		all = append(all, time.Since(start))
	}
	return slices.Min(all[1:]), nil
}
