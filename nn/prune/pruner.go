package prune

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op/trait"
)

// Pruner chooses what to remove. The zero value removes nothing.
type Pruner struct {
	Target Target        // what should be left
	By     Criterion     // nil: L2 magnitude
	Scale  Normalization // how scores of different groups are made comparable; "": ByMean
	// Keep protects the channels that the selected nodes compute. A selector that selects no node is an error.
	Keep []nn.Selector
	// RoundTo makes the lengths that are left multiples of it, if a group is large enough; 0: any length.
	RoundTo int
	// Most is the largest fraction of a group that may be removed; 0: all but one atom.
	Most float64
	// PerLayer removes the same fraction of every group instead of comparing scores between groups.
	PerLayer bool
	// NormalizedAxes also removes channels over which a normalization, a softmax or a mean runs, which changes what the
	// model computes by more than the missing parameters.
	NormalizedAxes bool

	onTheWay bool // a round of Steps before the last: the target may be missed
}

// Target is the fraction of the model that should be left, between 0 and 1. 0 means no requirement; if several are set,
// the strictest one decides.
type Target struct {
	Channels float64 // of the channels that can be pruned
	Params   float64 // of the parameters
	MACs     float64 // of the multiply-adds
	Time     float64 // of the measured time of a run
}

func (t Target) zero() bool { return t == Target{} }

func (t Target) check() error {
	for _, x := range []float64{t.Channels, t.Params, t.MACs, t.Time} {
		if x < 0 || x > 1 || math.IsNaN(x) {
			return fail("target %v is not a share between 0 and 1", x)
		}
	}
	return nil
}

// check returns an error for invalid settings, and for selectors that select nothing, such as misspelled globs.
func (p Pruner) check(g *nn.Graph) error {
	switch {
	case p.RoundTo < 0:
		return fail("RoundTo is %d: want 0 or more", p.RoundTo)
	case !slices.Contains([]Normalization{"", ByMean, ByMax, BySum, None}, p.Scale):
		return fail("Scale is %q: want %s, %s, %s or %s", p.Scale, ByMean, ByMax, BySum, None)
	case !(p.Most >= 0 && p.Most <= 1):
		return fail("Most is %v: want a share between 0 and 1", p.Most)
	}
	for i, s := range p.Keep {
		found := false
		for range g.Nodes(s) {
			found = true
			break
		}
		if !found {
			return fail("Keep: selector %d selects no node", i)
		}
	}
	return p.Target.check()
}

func fail(format string, args ...any) error {
	return &nn.Error{Stage: "prune", Err: fmt.Errorf(format, args...)}
}

// Groups returns the groups that the pruner may cut.
func (p Pruner) Groups(g *nn.Graph) []*nn.Group {
	return p.allowed(g.Channels())
}

func (p Pruner) allowed(c *nn.Channels) []*nn.Group {
	var list []*nn.Group
	for _, x := range c.Groups() {
		if len(x.Atoms) > 1 && (p.NormalizedAxes || !x.Normalized) && !p.protects(x) {
			list = append(list, x)
		}
	}
	return list
}

func (p Pruner) protects(x *nn.Group) bool {
	for _, n := range x.Makers() {
		for _, s := range p.Keep {
			if s != nil && s(n) {
				return true
			}
		}
	}
	return false
}

// Plan scores the channels, chooses which to remove, and returns a plan that removes them. The graph does not change.
func (p Pruner) Plan(ctx context.Context, g *nn.Graph) (*nn.Plan, error) {
	if err := p.check(g); err != nil {
		return nil, err
	}
	c, err := g.ChannelsUntil(ctx)
	if err != nil {
		return nil, err
	}
	atoms, notes, err := p.choose(ctx, g, c, p.Target)
	if err != nil {
		return nil, err
	}
	return g.PlanUntil(ctx, func(e *nn.Edit) {
		e.RemoveAtoms(atoms...)
		for _, n := range notes {
			e.Note("%s", n)
		}
	})
}

func (p Pruner) choose(ctx context.Context, g *nn.Graph, c *nn.Channels, t Target) ([]*nn.Atom, []string, error) {
	groups := p.allowed(c)
	if t.zero() {
		var notes []string
		for _, x := range groups {
			notes = append(notes, describe(x))
		}
		return nil, notes, nil
	}
	if len(groups) == 0 {
		return nil, nil, p.stuck(ctx, g, c, errors.New("nothing can be cut"))
	}
	r, err := p.rank(ctx, g, groups)
	if err != nil {
		return nil, nil, err
	}
	atoms, err := r.reach(ctx, g, c, t, p.onTheWay)
	if err != nil {
		return nil, nil, p.stuck(ctx, g, c, err)
	}
	var notes []string
	for _, x := range groups {
		if x.Normalized {
			notes = append(notes, "a normalization runs over "+describe(x)+": cutting it changes what the model computes")
		}
	}
	return atoms, notes, nil
}

// weighted selects the nodes that multiply data with a weight.
func weighted(n *nn.Node) bool { return n.Traits().WeightedSums != nil }

// describe returns one line about a group.
func describe(x *nn.Group) string {
	s := ""
	for i, a := range x.Params() {
		if i == 3 {
			s += " …"
			break
		}
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("axis %d of %s", a.Axis, a.Value.Name())
	}
	return fmt.Sprintf("%d atoms on %s", len(x.Atoms), s)
}

// stuck adds to an error the reasons why weighted layers cannot be pruned.
func (p Pruner) stuck(ctx context.Context, g *nn.Graph, c *nn.Channels, err error) error {
	var why []string
	for n := range g.Nodes(weighted) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if len(why) == 3 {
			break
		}
		v := n.Out(0)
		axis := len(v.Type().Shape) - 1
		if n.Traits().Layout == trait.ChannelsFirst {
			axis = 1
		}
		if x := c.Fixed(v, axis); x != nil {
			var e *nn.Error
			if errors.As(x, &e) {
				x = e.Err
			}
			why = append(why, x.Error())
		}
	}
	if len(why) == 0 {
		return &nn.Error{Stage: "prune", Err: err}
	}
	return &nn.Error{Stage: "prune", Err: fmt.Errorf("%w; %s", err, strings.Join(why, "; "))}
}

// Steps prunes in n rounds, each of which removes the same ratio; the last one reaches the target. Each plan is applied
// before the loop body runs, which can fine-tune the model.
func (p Pruner) Steps(ctx context.Context, g *nn.Graph, n int) iter.Seq2[*nn.Plan, error] {
	return func(yield func(*nn.Plan, error) bool) {
		if n < 1 {
			yield(nil, fail("%d steps: want 1 or more", n))
			return
		}
		base := p.weigh(g)
		for i := range n {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			q := p
			q.onTheWay = i < n-1
			q.Target = p.Target.share(float64(i+1)/float64(n), base, p.weigh(g), n)
			plan, err := q.Plan(ctx, g)
			if err == nil {
				err = plan.Apply()
			}
			if !yield(plan, err) || err != nil {
				return
			}
		}
	}
}

// weight is the size of the model that targets are relative to.
type weight struct {
	cost  nn.Cost
	atoms int
}

func (p Pruner) weigh(g *nn.Graph) weight {
	c := g.Channels()
	w := weight{cost: c.Cost(nil)}
	for _, x := range p.allowed(c) {
		w.atoms += len(x.Atoms)
	}
	return w
}

// share returns the target, relative to the current graph, of the round after which the fraction done of the pruning is reached.
func (t Target) share(done float64, base, now weight, n int) Target {
	part := func(x float64, base, now float64) float64 {
		if x == 0 || now == 0 {
			return 0
		}
		return min(1, math.Pow(x, done)*base/now)
	}
	return Target{
		Channels: part(t.Channels, float64(base.atoms), float64(now.atoms)),
		Params:   part(t.Params, float64(base.cost.Params), float64(now.cost.Params)),
		MACs:     part(t.MACs, float64(base.cost.MACs), float64(now.cost.MACs)),
		Time:     part(t.Time, 1, math.Pow(t.Time, done-1/float64(n))),
	}
}
