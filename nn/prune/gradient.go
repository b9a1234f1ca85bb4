package prune

import (
	"context"
	"iter"
	"math"
	"sync"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
)

// Taylor scores by the first-order change of the loss if the atom becomes zero: |Σ w·∂L/∂w| over all its parameters,
// averaged over the batches that s yields.
func Taylor(s iter.Seq2[nn.Grads, error]) Criterion {
	return &gradients{seq: s, f: func(w, g float64) float64 { return w * g }}
}

// ActivationGradient scores by |activation·gradient| of a channel, averaged over batches (Molchanov and others, 2016).
// For a channel of a layer with weight and bias this is the sum of w·∂L/∂w over its row, so it is computed from the
// gradients of the parameters.
func ActivationGradient(s iter.Seq2[nn.Grads, error]) Criterion {
	return &gradients{seq: s, f: func(w, g float64) float64 { return w * g }, rows: true}
}

// Hessian scores by w²·E[g²], which approximates the diagonal of the Hessian by the squared gradient.
func Hessian(s iter.Seq2[nn.Grads, error]) Criterion {
	return &gradients{seq: s, f: func(w, g float64) float64 { return w * w * g * g }}
}

// gradients sums f(weight, gradient) along every axis, batch by batch. The batches are read again
// when the graph has changed.
type gradients struct {
	seq  iter.Seq2[nn.Grads, error]
	f    func(w, g float64) float64
	rows bool // only parameters that compute the channels

	mu      sync.Mutex
	graph   *nn.Graph
	version int
	batches []map[*nn.Param][][]float64 // for each axis of a parameter, a sum for each index
}

// Score sums over the parameters of each atom and averages over batches.
func (t *gradients) Score(ctx context.Context, g *nn.Graph, c *nn.Group) ([]float64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.collect(ctx, g); err != nil {
		return nil, err
	}
	out := make([]float64, len(c.Atoms))
	for i, a := range c.Atoms {
		list := a.Slices()
		for _, batch := range t.batches {
			total := 0.0
			for _, s := range list {
				axes, ok := batch[s.Param]
				if !ok || t.rows && !c.Makes(s.Param) {
					continue
				}
				for _, k := range s.Index {
					total += axes[s.Axis][k]
				}
			}
			out[i] += math.Abs(total) / float64(len(t.batches))
		}
	}
	return out, nil
}

func (t *gradients) collect(ctx context.Context, g *nn.Graph) error {
	if t.graph == g && t.version == g.Version() && t.batches != nil {
		return nil
	}
	t.graph, t.version, t.batches = g, g.Version(), nil
	for grads, err := range t.seq {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		batch := map[*nn.Param][][]float64{}
		for p, d := range grads {
			w, err := dtype.Float64s(direct.Data(p))
			if err != nil {
				return err
			}
			x, err := dtype.Float64s(d)
			if err != nil {
				return err
			}
			if len(x) != len(w) {
				return fail("the gradient of %s has shape %v, the parameter %v", p.Name(), d.Shape(), direct.Data(p).Shape())
			}
			var axes [][]float64
			for axis := range direct.Data(p).Shape() {
				axes = append(axes, along(x, direct.Data(p).Shape(), axis, func(i int) float64 { return t.f(w[i], x[i]) }))
			}
			batch[p] = axes
		}
		t.batches = append(t.batches, batch)
	}
	if len(t.batches) == 0 {
		return fail("the criterion got no gradients")
	}
	return nil
}
