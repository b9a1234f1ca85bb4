package nn_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
)

// reachable lists the lengths up to most that an axis of a parameter can be given when groups on it lose all but one atom or gain any
// number. Of groups that share indices, heads and features of heads, one takes part: the first, or the last.
func reachable(g *nn.Graph, p nn.AxisSize, most int) map[int]bool {
	all := map[int]bool{p.Size: true}
	groups := g.Channels().Groups()
	for range 2 {
		sizes := map[int]bool{p.Size: true}
		taken := map[int]bool{}
		for _, x := range groups {
			var on []int
			for _, a := range x.Atoms {
				for _, s := range a.Slices() {
					if s.Param == p.Value.Param() && s.Axis == p.Axis {
						on = append(on, s.Index...)
					}
				}
			}
			if len(on) == 0 || x.Normalized || slices.ContainsFunc(on, func(i int) bool { return taken[i] }) {
				continue
			}
			for _, i := range on {
				taken[i] = true
			}
			per := len(on) / len(x.Atoms)
			for _, n := range slices.Collect(maps.Keys(sizes)) {
				for k := 1 - len(x.Atoms); n+k*per <= most; k++ {
					sizes[n+k*per] = true
				}
			}
		}
		maps.Copy(all, sizes)
		slices.Reverse(groups)
	}
	return all
}

// TestRandomResize asks random networks for every length of an axis: those that sets of channels add up to are met exactly, others
// refused, or met as nearly as they can be. Two requests at once leave alone what the first decided.
func TestRandomResize(t *testing.T) {
	met, refused := 0, 0
	for seed := range uint64(36) {
		g := model(t, randomNetwork(seed))
		r := rand.New(rand.NewPCG(seed, 41))
		groups := g.Channels().Groups()
		if len(groups) == 0 {
			continue
		}
		params := groups[r.IntN(len(groups))].Params()
		p := params[r.IntN(len(params))]
		most := p.Size + 2*p.PerAtom + 1
		can := reachable(g, p, most)
		others := groups[r.IntN(len(groups))].Params()
		q := others[r.IntN(len(others))]
		for want := 1; want <= most; want++ {
			o := nn.ResizeOptions{Axis: p.Axis - len(p.Value.Type().Shape)}
			plan, err := g.Plan(func(e *nn.Edit) { e.Resize(p.Value, want, o) })
			if err != nil && strings.Contains(err.Error(), "cannot be widened") { // not every value can
				continue
			}
			if (err == nil) != can[want] {
				t.Fatalf("seed %d: axis %d of %s, %d long, %d at a time, to %d: %v, lengths that can be are %v", seed, p.Axis, p.Value.Name(), p.Size, p.PerAtom, want, err, can)
			}
			if err != nil {
				refused++
			} else {
				met++
				checkSize(t, g, plan, p, want)
			}
			near := o
			near.Near = true
			plan, err = g.Plan(func(e *nn.Edit) { e.Resize(p.Value, want, near) })
			if err != nil && strings.Contains(err.Error(), "cannot be widened") {
				continue
			} else if err != nil {
				t.Fatalf("seed %d: nearly %d: %v", seed, want, err)
			}
			best := p.Size
			for n := range can {
				if n >= 1 && max(n-want, want-n) < max(best-want, want-best) {
					best = n
				}
			}
			distance := max(best-want, want-best)
			for _, c := range plan.Grown() {
				if c.Initializer == p.Value.Name() && c.Axis == p.Axis {
					best = c.After
				}
			}
			for _, c := range plan.Cuts() {
				if c.Initializer == p.Value.Name() && c.Axis == p.Axis {
					best = c.Before - len(c.Removed)
				}
			}
			if got := max(best-want, want-best); got > distance && best != p.Size {
				t.Errorf("seed %d: nearly %d of %d became %d, %d off would do", seed, want, p.Size, best, distance)
			}
			if _, err := g.Plan(func(e *nn.Edit) {
				e.ResizeAll(nn.Request{Value: p.Value, Channels: want, ResizeOptions: o}, nn.Request{Value: q.Value, Channels: q.Size, ResizeOptions: nn.ResizeOptions{Axis: q.Axis - len(q.Value.Type().Shape), Near: true}})
			}); err == nil && !can[want] {
				t.Errorf("seed %d: %d beside another request", seed, want)
			}
		}
	}
	if met < 80 || refused < 10 {
		t.Errorf("%d are met and %d refused", met, refused)
	}
}

// checkSize applies a plan, looks at the length of the axis, and takes it back.
func checkSize(t *testing.T, g *nn.Graph, plan *nn.Plan, p nn.AxisSize, want int) {
	t.Helper()
	before := nntest.Dump(g)
	if err := plan.Apply(); err != nil {
		t.Fatal(err)
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	if got := p.Value.Type().Shape[p.Axis].Size; got != want {
		t.Errorf("axis %d of %s is %d long, want %d", p.Axis, p.Value.Name(), got, want)
	}
	if err := plan.Undo(); err != nil || nntest.Dump(g) != before {
		t.Fatalf("undone: %v", err)
	}
}
