package prune

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
)

// TestRounds: how many atoms of a group may go, in steps that leave multiples.
func TestRounds(t *testing.T) {
	g := uneven(t)
	groups := g.Channels().Groups()
	for _, c := range []struct {
		p     Pruner
		group int
		ask   int
		most  int
		want  int
	}{
		{Pruner{}, 0, 4, 4, 4}, {Pruner{Most: 0.5}, 0, 1, 2, 1}, {Pruner{Most: 1}, 0, 4, 4, 4}, {Pruner{Most: 0.2}, 0, 1, 1, 1}, {Pruner{Most: 0.1}, 0, 0, 0, 0},
		{Pruner{RoundTo: 2}, 0, 2, 4, 1}, {Pruner{RoundTo: 2}, 0, 3, 4, 3}, {Pruner{RoundTo: 4}, 0, 2, 4, 1}, {Pruner{RoundTo: 8}, 0, 3, 4, 0}, {Pruner{RoundTo: 1}, 0, 3, 4, 3},
		{Pruner{RoundTo: 3}, 1, 3, 3, 1}, {Pruner{RoundTo: 2}, 1, 3, 3, 2}, {Pruner{RoundTo: 4}, 1, 3, 3, 0},
	} {
		r := &ranking{p: c.p, groups: groups}
		x := groups[c.group]
		if got := r.most(x); got != c.most {
			t.Errorf("%+v: %d of %d may go, want %d", c.p, got, len(x.Atoms), c.most)
		}
		if got := r.round(x, c.ask); got != c.want {
			t.Errorf("%+v: %d of %d become %d, want %d", c.p, c.ask, len(x.Atoms), got, c.want)
		}
	}
	for _, c := range [][3]int{{12, 8, 4}, {7, 3, 1}, {4, 4, 4}, {5, 0, 5}, {0, 5, 5}} {
		if got := gcd(c[0], c[1]); got != c[2] {
			t.Errorf("the divisor of %d and %d is %d", c[0], c[1], got)
		}
	}
}

// TestReach: the atoms that go are the shortest part of the ranking that meets the target, of whichever costs it is.
func TestReach(t *testing.T) {
	g := uneven(t)
	c := g.Channels()
	p := Pruner{By: L1}
	r, err := p.rank(t.Context(), g, p.allowed(c))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.queue) != 9 || !slices.IsSortedFunc(r.queue, func(a, b entry) int { return int(math.Copysign(1, a.score-b.score)) }) {
		t.Errorf("the ranking is %v", r.queue)
	}
	clock := &stopwatch{g: g}
	caps := []int{5, 4}
	whole := c.Cost(nil)
	for _, target := range []Target{{Channels: 0.5}, {Params: 0.6}, {MACs: 0.7}, {MACs: 0.3}, {Channels: 0.9, MACs: 0.5}, {Params: 0.2, Channels: 1}, {Channels: 2.0 / 9}} {
		miss := func(gone []*nn.Atom) float64 {
			rest, over := c.Cost(gone), math.Inf(-1)
			for _, x := range [][3]float64{{target.Channels, 9, float64(9 - len(gone))}, {target.Params, float64(whole.Params), float64(rest.Params)}, {target.MACs, float64(whole.MACs), float64(rest.MACs)}} {
				if x[0] > 0 {
					over = max(over, x[2]/x[1]-x[0])
				}
			}
			return over
		}
		found, err := r.search(t.Context(), c, target, caps, clock)
		if err != nil {
			t.Fatal(err)
		}
		least := 0
		for least < 9 && miss(r.first(least, caps)) > 0 {
			least++
		}
		last := found[len(found)-1]
		if last.k != least || math.Abs(last.over-miss(last.atoms)) > 1e-12 {
			t.Errorf("%+v: %d atoms, over by %v, want %d", target, last.k, last.over, least)
		}
		if len(found) == 2 && (found[0].k != least-1 || found[0].over <= 0) {
			t.Errorf("%+v: the one before is %d, over by %v", target, found[0].k, found[0].over)
		}
		if got := r.first(3, caps); len(got) != 3 {
			t.Errorf("%d atoms of the first 3", len(got))
		}
	}
	if found, err := r.search(t.Context(), c, Target{Params: 1}, caps, clock); err != nil || len(found) != 1 || found[0].k != 0 {
		t.Errorf("what is met already: %v, %v", found, err)
	}
	if found, err := r.search(t.Context(), c, Target{Params: 0.01}, caps, clock); err != nil || len(found) != 1 || found[0].k != 9 || found[0].over <= 0 {
		t.Errorf("what cannot be met: %v, %v", found, err)
	}
	best := fmt.Sprintf("the target is out of reach: at best %.0f %% over it", 100*(float64(c.Cost(r.first(9, caps)).Params)/float64(whole.Params)-0.01))
	if _, err := r.reach(t.Context(), g, c, Target{Params: 0.01}, false); err == nil || err.Error() != best {
		t.Errorf("%v, want %s", err, best)
	}
	if atoms, err := r.reach(t.Context(), g, c, Target{Params: 0.01}, true); err != nil || len(atoms) != 7 {
		t.Errorf("on the way %d atoms go, %v", len(atoms), err)
	}
	p.PerLayer = true
	if r, err = p.rank(t.Context(), g, p.allowed(c)); err != nil {
		t.Fatal(err)
	}
	for i, e := range r.queue {
		if i > 0 && e.score < r.queue[i-1].score || e.score != math.Round(e.score*20)/20 || e.score >= 1 {
			t.Errorf("entry %d of group %d is %v", i, e.group, e.score)
		}
	}
	if got := r.counts(4, caps); !slices.Equal(got, []int{2, 2}) {
		t.Errorf("the first four are %v", got)
	}
}

// TestShares: the target of a round is what is left of the way, of what is there now.
func TestShares(t *testing.T) {
	base := weight{nn.Cost{Params: 1000, MACs: 400}, 20}
	now := weight{nn.Cost{Params: 500, MACs: 300}, 16}
	got := Target{Channels: 0.25, Params: 0.16, MACs: 0.09, Time: 0.0625}.share(0.5, base, now, 4)
	want := Target{Channels: 0.5 * 20 / 16, Params: 0.4 * 2, MACs: 0.3 * 4 / 3, Time: 0.25 / math.Pow(0.0625, 0.25)}
	for i, x := range [][2]float64{{got.Channels, want.Channels}, {got.Params, want.Params}, {got.MACs, want.MACs}, {got.Time, want.Time}} {
		if math.Abs(x[0]-x[1]) > 1e-12 {
			t.Errorf("share %d is %v, want %v", i, x[0], x[1])
		}
	}
	if got := (Target{Params: 0.9}).share(1, base, weight{nn.Cost{Params: 100}, 1}, 1); got.Params != 1 || got.MACs != 0 {
		t.Errorf("what is reached already: %+v", got)
	}
	if got := (Target{Params: 0.9}).share(1, base, weight{}, 1); got.Params != 0 {
		t.Errorf("of nothing: %+v", got)
	}
	g := uneven(t)
	if w := (Pruner{}).weigh(g); w.atoms != 9 || w.cost != g.Channels().Cost(nil) {
		t.Errorf("%+v", w)
	}
	if w := (Pruner{Keep: []nn.Selector{nil, nn.Glob("a")}}).weigh(g); w.atoms != 4 {
		t.Errorf("%+v", w)
	}
}

// TestDescribe checks that the description of a group names three of its axes.
func TestDescribe(t *testing.T) {
	groups := uneven(t).Channels().Groups()
	if got := describe(groups[0]); got != "5 atoms on axis 0 of a.weight, axis 0 of a.bias, axis 0 of bn.weight …" {
		t.Error(got)
	}
	if got := describe(groups[1]); got != "4 atoms on axis 0 of b.weight, axis 0 of b.bias, axis 1 of c.weight" {
		t.Error(got)
	}
}

// TestTies: what is as important goes in the order of the channels.
func TestTies(t *testing.T) {
	if got := ascending([]float64{2, 1, 2, 1, 1}); !slices.Equal(got, []int{1, 3, 4, 0, 2}) {
		t.Errorf("in order: %v", got)
	}
	g := uneven(t)
	p := Pruner{Scale: None, By: CriterionFunc(func(_ context.Context, _ *nn.Graph, c *nn.Group) ([]float64, error) {
		return []float64{1, 1, 0, 1, 0}[:len(c.Atoms)], nil
	})}
	r, err := p.rank(t.Context(), g, p.allowed(g.Channels()))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(r.order, [][]int{{2, 4, 0, 1, 3}, {2, 0, 1, 3}}, slices.Equal) {
		t.Errorf("in order: %v", r.order)
	}
	var groups []int
	for _, e := range r.queue {
		groups = append(groups, e.group)
	}
	if !slices.Equal(groups, []int{0, 0, 1, 0, 0, 0, 1, 1, 1}) {
		t.Errorf("the ranking is of groups %v", groups)
	}
}

// TestNothingLeft: a group of one is never cut, and where nothing can be, or the last round misses the target, the plan says so.
func TestNothingLeft(t *testing.T) {
	g := uneven(t)
	if _, err := (Pruner{Target: Target{Params: 0.5}, Keep: []nn.Selector{nn.Glob("*")}}).Plan(t.Context(), g); err == nil || !strings.Contains(err.Error(), "nothing can be cut") {
		t.Error(err)
	}
	rounds := 0
	for _, err := range (Pruner{Target: Target{Params: 0.1}, Most: 0.25}).Steps(t.Context(), g, 3) {
		if rounds++; (err != nil) != (rounds == 3) || err != nil && !strings.Contains(err.Error(), "out of reach") {
			t.Errorf("round %d: %v", rounds, err)
		}
	}
	if rounds != 3 {
		t.Errorf("%d rounds", rounds)
	}
	one := nn.New("one")
	if err := one.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 1}, layers.ReLU{}, layers.Linear{Out: 2}, layers.ReLU{}, layers.Linear{Out: 2}}, e.Input("x", "float32[N,3]")))
	}); err != nil {
		t.Fatal(err)
	}
	if list := (Pruner{}).Groups(one); len(list) != 1 || len(list[0].Atoms) != 2 {
		t.Errorf("%d groups can be cut", len(list))
	}
}
