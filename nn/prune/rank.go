package prune

import (
	"context"
	"math"
	"sort"

	"github.com/graft-ml/graft/nn"
)

// ranking lists all atoms that may be removed, the least important first.
type ranking struct {
	p      Pruner
	groups []*nn.Group
	order  [][]int // by group: its atoms, the least important first
	queue  []entry // atoms of all groups
	whole  nn.Cost // of the model before anything is removed; see search
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
				return nil, fail("the criterion's score for %s is not a number", describe(x))
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

// counts returns how many atoms of each group are removed for the first k of the queue, with limits and
// rounding applied, and at most caps of each group.
func (r *ranking) counts(k int, caps []int) []int {
	count := make([]int, len(r.groups))
	for _, e := range r.queue[:k] {
		count[e.group]++
	}
	for i, x := range r.groups {
		count[i] = min(r.round(x, min(count[i], r.most(x))), caps[i])
	}
	return count
}

// first returns the atoms that counts counts.
func (r *ranking) first(k int, caps []int) []*nn.Atom {
	var list []*nn.Atom
	for i, n := range r.counts(k, caps) {
		for _, at := range r.order[i][:n] {
			list = append(list, r.groups[i].Atoms[at])
		}
	}
	return list
}

// most returns how many atoms of a group may be removed.
func (r *ranking) most(x *nn.Group) int {
	n := len(x.Atoms) - 1
	if r.p.Most > 0 {
		n = min(n, int(r.p.Most*float64(len(x.Atoms))))
	}
	return n
}

// round reduces the number of removed atoms until the rest is a multiple of RoundTo.
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
