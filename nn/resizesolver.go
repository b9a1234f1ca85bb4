package nn

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/internal/indices"
	"gorgonia.org/tensor"
)

// demand is a request on an axis.
type demand struct {
	Request
	axis axisID
	size int
}

// solver decides how many atoms of which groups to remove or add.
type solver struct {
	c       *Channels
	decided map[*Group]int // groups that an earlier request changed, and by how many atoms
	gone    map[*Atom]bool
	added   map[*Group]int
}

// offer is a group that can change the length of an axis.
type offer struct {
	indices.Offer
	group *Group
	order []*Atom // the least useful first
}

func (s *solver) solve(d demand) error {
	now := d.size
	for _, g := range s.c.on()[d.axis] {
		now += s.decided[g] * g.per(d.axis)
	}
	need := d.Channels - now
	if err := engine.Fits(float64(need) * 64 * float64(len(s.c.groups)+1)); err != nil { // lists of indices, and tables over them
		return &Error{Stage: "resize", Node: s.c.a.axes[d.axis].value.label(), Err: fmt.Errorf("%d channels instead of %d: %w", d.Channels, now, err)}
	}
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
		return s.refuse(d)
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

// fill chooses the number of atoms of each offer to add or remove (negative) so that the axis changes
// by n, with the smallest loss.
func fill(offers []offer, n int) ([]int, float64, bool) {
	list := make([]indices.Offer, len(offers))
	for i, o := range offers {
		list[i] = o.Offer
	}
	return indices.Fill(list, n)
}

// refuse returns the reason why a demand cannot be met.
func (s *solver) refuse(d demand) error {
	v := s.c.a.axes[d.axis]
	if err := s.c.Fixed(v.value, v.axis); err != nil {
		return err
	}
	steps := map[int]bool{}
	norm := false
	for _, g := range s.c.on()[d.axis] {
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
	return &Error{Stage: "resize", Node: v.value.label(), Err: fmt.Errorf("axis %d cannot go from %d to %d: channels come in sets of %v, and at least one set must stay", v.axis, d.size, d.Channels, list)}
}

// per returns the number of indices per atom on an axis.
func (g *Group) per(id axisID) int { return g.on[id] }

// offers lists the groups on the axis that do not overlap.
func (s *solver) offers(d demand, backwards bool) []offer {
	ranked := d.Near || d.Channels < d.size || len(s.decided) > 0 // otherwise none is removed, and no ranking is needed
	var list []offer
	taken := map[int32]bool{}
	groups := slices.Clone(s.c.on()[d.axis])
	if backwards {
		slices.Reverse(groups)
	}
	for _, g := range groups {
		per := g.per(d.axis)
		if _, done := s.decided[g]; per == 0 || done || g.Normalized && !d.NormalizedAxes {
			continue
		}
		if !g.claim(taken, d.axis) {
			continue
		}
		if ranked {
			list = append(list, s.offer(g, per, d))
		} else {
			list = append(list, offer{indices.Offer{Sets: len(g.Atoms), Per: per, Lost: make([]float64, len(g.Atoms)+1)}, g, g.Atoms})
		}
	}
	return list
}

func (s *solver) offer(g *Group, per int, d demand) offer {
	o := offer{indices.Offer{Sets: len(g.Atoms), Per: per, Lost: []float64{0}}, g, slices.Clone(g.Atoms)}
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
	for _, a := range o.order {
		sum += u[a]
		o.Lost = append(o.Lost, sum)
	}
	return o
}

// magnitude returns the L2 norm of an atom's weights.
func magnitude(g *Group) func(*Atom) float64 {
	sums := map[axisID][]float64{}
	for _, x := range g.axes {
		c := g.c.a.axes[x.Axis]
		if p := c.value.param; p != nil && p.data != nil && p.purpose() == Weight {
			sums[x.Axis] = squaresOf(p.data, c.axis)
		}
	}
	return func(a *Atom) float64 {
		total := 0.0
		for id, slots := range a.parts() {
			if s := sums[id]; s != nil {
				for _, e := range slots {
					total += s[e-g.c.a.axes[id].first]
				}
			}
		}
		return math.Sqrt(total)
	}
}

// squaresOf returns the sum of squares for each index of an axis, nil if the tensor is not numeric.
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
