package prune

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

const (
	// near is the largest distance from the target, as a fraction of the whole, at which no other cuts are tried.
	near = 0.02
	// slack is how far above the target the result may be, since lengths are integers and may be rounded to multiples.
	slack = 0.05
)

// reach finds a cut near the target. Atoms are removed in the order of the queue. If the next atom of a group
// overshoots because lengths are rounded, that group is not changed further and the search continues with the others.
// With onTheWay the nearest cut is returned, even an empty one; otherwise a cut that misses the target by more
// than slack only if there is no other.
func (r *ranking) reach(ctx context.Context, g *nn.Graph, c *nn.Channels, t Target, onTheWay bool) ([]*nn.Atom, error) {
	clock := &stopwatch{g: g}
	caps := make([]int, len(r.groups))
	for i, x := range r.groups {
		caps[i] = len(x.Atoms)
	}
	tries := len(r.groups)
	if t.Time > 0 {
		tries = min(tries, 3) // each takes a dozen measurements
	}
	var best []*nn.Atom
	least := math.Inf(1)
	distance := func(over float64) float64 {
		if over > slack && !onTheWay {
			return 1 + over
		}
		return math.Abs(over)
	}
	for range tries {
		found, err := r.search(ctx, c, t, caps, clock)
		if err != nil {
			return nil, err
		}
		for _, x := range found {
			if d := distance(x.over) - distance(least); d < 0 || d == 0 && x.over < least {
				best, least = x.atoms, x.over
			}
		}
		last := found[len(found)-1]
		if math.Abs(least) <= near || last.over > 0 || last.k == 0 {
			break
		}
		next := r.queue[last.k-1].group
		caps[next] = r.counts(last.k-1, caps)[next]
	}
	if least > 2*slack && !onTheWay {
		return nil, fmt.Errorf("the target is out of reach: at best %.0f %% over it", 100*least)
	}
	return best, nil
}

// candidate is the cut of the first k atoms of the queue, with its distance from the target (negative: target met).
type candidate struct {
	k     int
	atoms []*nn.Atom
	over  float64
}

// search finds the shortest prefix of the queue that meets the target, and the prefix before it. If
// none meets it, the only candidate is the whole queue.
func (r *ranking) search(ctx context.Context, c *nn.Channels, t Target, caps []int, clock *stopwatch) ([]candidate, error) {
	var err error
	if r.whole, err = c.CostUntil(ctx, nil); err != nil {
		return nil, err
	}
	at := func(k int) (candidate, error) {
		atoms := r.first(k, caps)
		over, err := r.measure(ctx, c, t, atoms, clock)
		return candidate{k, atoms, over}, err
	}
	met, err := at(len(r.queue))
	if err != nil || met.over > 0 {
		return []candidate{met}, err
	}
	missed, err := at(0)
	if err != nil || missed.over <= 0 {
		return []candidate{missed}, err
	}
	for met.k-missed.k > 1 {
		x, err := at((met.k + missed.k) / 2)
		if err != nil {
			return nil, err
		}
		if x.over > 0 {
			missed = x
		} else {
			met = x
		}
	}
	return []candidate{missed, met}, nil
}

// measure returns by which fraction of the whole the strictest target is missed; negative if it is met.
func (r *ranking) measure(ctx context.Context, c *nn.Channels, t Target, gone []*nn.Atom, clock *stopwatch) (float64, error) {
	over := math.Inf(-1)
	miss := func(target, whole, rest float64) {
		if target > 0 && whole > 0 {
			over = max(over, (rest-target*whole)/whole)
		}
	}
	rest, err := c.CostUntil(ctx, gone)
	if err != nil {
		return 0, err
	}
	whole := r.whole
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

// stopwatch measures the time of a model, or of a pruned copy of it.
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
		plan, err := s.g.PlanUntil(ctx, func(e *nn.Edit) { e.RemoveAtoms(gone...) })
		if err != nil {
			return 0, err
		}
		g, _ = s.g.Fork()
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

// fastest returns the shortest time of several runs on zeros, after a warm-up run.
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
