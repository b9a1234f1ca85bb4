package prune

import (
	"context"
	"math"
	"sort"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
)

func ascending(s []float64) []int {
	order := make([]int, len(s))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return s[order[a]] < s[order[b]] })
	return order
}

// FPGM scores by the sum of the distances to the other atoms' weights: an atom near the geometric median can be replaced
// by the others (He and others, 2019). Only weights that compute the channels count.
var FPGM Criterion = CriterionFunc(func(_ context.Context, _ *nn.Graph, c *nn.Group) ([]float64, error) {
	rows := make([][]float64, len(c.Atoms))
	for _, a := range c.Params() {
		p := a.Value.Param()
		if p.Role() != nn.Weight || !c.Makes(p) || len(direct.Data(p).Shape()) < 2 {
			continue
		}
		x, err := dtype.Float64s(direct.Data(p))
		if err != nil {
			return nil, err
		}
		for i, atom := range c.Atoms {
			for _, s := range atom.Slices() {
				if s.Param == p && s.Axis == a.Axis {
					rows[i] = appendSlice(rows[i], x, direct.Data(p).Shape(), a.Axis, s.Index)
				}
			}
		}
	}
	out := make([]float64, len(rows))
	for i := range rows {
		for j := range i {
			d := 0.0
			for k, v := range rows[i] {
				v -= rows[j][k]
				d += v * v
			}
			d = math.Sqrt(d)
			out[i] += d
			out[j] += d
		}
	}
	return out, nil
})

// appendSlice adds the elements of some indices of an axis.
func appendSlice(to, x []float64, shape []int, axis int, index []int) []float64 {
	inner, outer := 1, 1
	for i, n := range shape {
		if i < axis {
			outer *= n
		} else if i > axis {
			inner *= n
		}
	}
	for o := range outer {
		for _, k := range index {
			at := (o*shape[axis] + k) * inner
			to = append(to, x[at:at+inner]...)
		}
	}
	return to
}
