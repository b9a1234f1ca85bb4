package prune

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/trait"
)

// Criterion scores how important the atoms of a group are. Scores are compared within a group and, after Pruner.Scale,
// between groups.
type Criterion interface {
	Score(ctx context.Context, g *nn.Graph, c *nn.Group) ([]float64, error) // Score returns a number for each atom of the group; atoms with small numbers are removed first.
}

// CriterionFunc is a function that is a Criterion.
type CriterionFunc func(ctx context.Context, g *nn.Graph, c *nn.Group) ([]float64, error)

// Score calls f.
func (f CriterionFunc) Score(ctx context.Context, g *nn.Graph, c *nn.Group) ([]float64, error) {
	if f == nil {
		return nil, errors.New("prune: the criterion is a nil CriterionFunc")
	}
	return f(ctx, g, c)
}

// Reduction is the way to combine the norms of an atom's slices of several parameters.
type Reduction string

// The reductions. Sum is the default.
const (
	Sum   Reduction = "sum"
	Mean  Reduction = "mean"
	Max   Reduction = "max"
	Prod  Reduction = "prod"
	First Reduction = "first" // the norm of the first parameter that computes the channel
)

func (r Reduction) apply(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	total := 0.0
	switch r {
	case First:
		return x[0]
	case Max:
		total = math.Inf(-1)
		for _, v := range x {
			total = max(total, v)
		}
		return total
	case Prod:
		total = 1
		for _, v := range x {
			total *= v
		}
		return total
	}
	for _, v := range x {
		total += v
	}
	if r == Mean {
		total /= float64(len(x))
	}
	return total
}

// Normalization is the way to make scores of different groups comparable.
type Normalization string

// The normalizations: division by the mean of the group's scores (the default), by the largest one, by their sum, or
// none.
const (
	ByMean Normalization = "mean"
	ByMax  Normalization = "max"
	BySum  Normalization = "sum"
	None   Normalization = "none"
)

func (n Normalization) apply(s []float64) []float64 {
	sum, most := 0.0, 0.0
	for _, x := range s {
		sum += x
		most = max(most, x)
	}
	by := sum / float64(max(len(s), 1))
	switch n {
	case ByMax:
		by = most
	case BySum:
		by = sum
	case None:
		by = 1
	}
	out := make([]float64, len(s))
	for i, x := range s {
		if out[i] = x; by > 0 {
			out[i] = x / by
		}
	}
	return out
}

// Magnitude scores by the size of the parameters: the L1 or L2 norm of the atom's slice of each parameter, reduced over
// the parameters of the group.
type Magnitude struct {
	P      int       // 1 or 2: L1 or L2; 0: 2
	Reduce Reduction // over the parameters of the group; "": Sum
}

// The usual magnitudes.
var (
	L1 = Magnitude{P: 1}
	L2 = Magnitude{P: 2}
)

// Score implements Criterion.
func (m Magnitude) Score(ctx context.Context, _ *nn.Graph, c *nn.Group) ([]float64, error) {
	square := m.P != 1
	return sliceScores(ctx, c, m.Reduce, func(w float64) float64 {
		if square {
			return w * w
		}
		return math.Abs(w)
	}, func(sum float64) float64 {
		if square {
			return math.Sqrt(sum)
		}
		return sum
	})
}

// sliceScores computes g(Σ f(x)) for every atom's slice of each weight, and reduces over the weights.
func sliceScores(ctx context.Context, c *nn.Group, r Reduction, f, g func(float64) float64) ([]float64, error) {
	return reduce(ctx, c, r, func(p *nn.Param, axis int) ([]float64, error) {
		x, err := dtype.Float64s(direct.Data(p))
		if err != nil {
			return nil, err
		}
		return along(x, direct.Data(p).Shape(), axis, func(i int) float64 { return f(x[i]) }), nil
	}, g)
}

// reduce combines, for every atom, the sums over its indices of each weight; weights that compute the channels are first.
func reduce(ctx context.Context, c *nn.Group, r Reduction, sums func(p *nn.Param, axis int) ([]float64, error), g func(float64) float64) ([]float64, error) {
	type key struct {
		p    *nn.Param
		axis int
	}
	if c == nil {
		return nil, errors.New("prune: the group is nil")
	}
	have := map[key][]float64{}
	makes := map[*nn.Param]bool{}
	for _, a := range c.Params() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p := a.Value.Param()
		if p.Role() != nn.Weight {
			continue
		}
		s, err := sums(p, a.Axis)
		if err != nil {
			return nil, err
		}
		have[key{p, a.Axis}] = s
		makes[p] = c.Makes(p)
	}
	out := make([]float64, len(c.Atoms))
	for i, a := range c.Atoms {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var first, rest []float64
		for _, s := range a.Slices() {
			sums, ok := have[key{s.Param, s.Axis}]
			if !ok {
				continue
			}
			total := 0.0
			for _, k := range s.Index {
				total += sums[k]
			}
			if total = g(total); makes[s.Param] {
				first = append(first, total)
			} else {
				rest = append(rest, total)
			}
		}
		out[i] = r.apply(append(first, rest...))
	}
	return out, nil
}

// along sums f over all axes of a tensor except one.
func along(x []float64, shape []int, axis int, f func(i int) float64) []float64 {
	inner := 1
	for _, n := range shape[axis+1:] {
		inner *= n
	}
	n := shape[axis]
	out := make([]float64, n)
	for i := range x {
		out[i/inner%n] += f(i)
	}
	return out
}

// BNScale scores by the absolute values of the scales of normalizations in the group, or by L2 if the group has none (Liu
// and others, 2017).
var BNScale Criterion = CriterionFunc(func(ctx context.Context, g *nn.Graph, c *nn.Group) ([]float64, error) {
	scale := map[*nn.Param]bool{}
	for _, n := range c.Nodes() {
		if t := n.Traits(); t.Layout == trait.ChannelsFirst {
			for i, v := range n.Inputs() {
				if p := v.Param(); p != nil && p.Role() == nn.Weight && t.StartAt(i) == trait.StartOne {
					scale[p] = true
				}
			}
		}
	}
	out := make([]float64, len(c.Atoms))
	found := false
	for i, a := range c.Atoms {
		for _, s := range a.Slices() {
			if !scale[s.Param] {
				continue
			}
			x, err := dtype.Float64s(direct.Data(s.Param))
			if err != nil {
				return nil, err
			}
			for _, k := range s.Index {
				out[i] += math.Abs(x[k])
				found = true
			}
		}
	}
	if !found {
		return L2.Score(ctx, g, c)
	}
	return out, nil
})

// LAMP scores by the squared magnitude, divided by the sum over all atoms of the group that are at least as large (Lee
// and others, 2021). Scores of different groups are comparable as they are, so set Pruner.Scale to None.
var LAMP Criterion = CriterionFunc(func(ctx context.Context, g *nn.Graph, c *nn.Group) ([]float64, error) {
	s, err := L2.Score(ctx, g, c)
	if err != nil {
		return nil, err
	}
	order := ascending(s)
	rest := 0.0
	out := make([]float64, len(s))
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		sq := s[i] * s[i]
		if rest += sq; rest > 0 {
			out[i] = sq / rest
		}
	}
	return out, nil
})

// Random scores at random; the scores depend on seed and group.
func Random(seed uint64) Criterion {
	return CriterionFunc(func(_ context.Context, _ *nn.Graph, c *nn.Group) ([]float64, error) {
		h := uint64(14695981039346656037)
		for _, a := range c.Params() {
			for _, b := range []byte(a.Value.Name()) {
				h = (h ^ uint64(b)) * 1099511628211
			}
		}
		r := rand.New(rand.NewPCG(seed, h))
		out := make([]float64, len(c.Atoms))
		for i := range out {
			out[i] = r.Float64()
		}
		return out, nil
	})
}
