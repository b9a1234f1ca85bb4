package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/prune"
	"gorgonia.org/tensor"
)

// tolerance is the largest difference that passes.
const tolerance = 1e-4

// difference returns the largest one of two outputs, as a share of the largest element or, where that is less, of 1; NaN
// agrees with NaN.
func difference(x, y []float64) float64 {
	worst, scale := 0.0, 1.0
	for i := range x {
		if math.IsNaN(x[i]) != math.IsNaN(y[i]) {
			return math.Inf(1)
		}
		if x[i] != y[i] && !math.IsNaN(x[i]) {
			worst = max(worst, math.Abs(x[i]-y[i]))
		}
		if !math.IsInf(y[i], 0) {
			scale = max(scale, math.Abs(y[i]))
		}
	}
	return worst / scale
}

// errNormalized marks a model that was cut along axes that a scale, a normalization or a mean runs over.
var errNormalized = errors.New("only with Pruner.NormalizedAxes: what remains is not compared with a masked model, ONNX Runtime runs it")

// pruned prunes to 70 % of the multiply-adds. The pruned model must compute the same as the whole
// model with the removed slices zeroed, and ONNX Runtime must run its file.
func pruned(ctx context.Context, t *trial) (string, error) {
	if t.out == nil {
		return "", errors.New("the model did not run")
	}
	p := prune.Pruner{Target: prune.Target{MACs: 0.7}}
	g, err := t.g.Clone()
	if err != nil {
		return "", err
	}
	if len(p.Groups(g)) == 0 {
		p.NormalizedAxes = true
	}
	if len(p.Groups(g)) == 0 {
		return "", errors.New("no channels can be removed: all of them depend on an input or an output, or there are none")
	}
	plan, err := p.Plan(ctx, g)
	if err != nil {
		return "", err
	}
	if err := plan.Apply(); err != nil {
		return "", err
	}
	feed := nn.Feed{}
	for name, d := range t.in {
		feed[name] = d
	}
	small, err := g.Eval(ctx, feed)
	if err != nil {
		return "", err
	}
	if !p.NormalizedAxes {
		if err := t.sameMasked(ctx, feed, small, plan.Cuts()); err != nil {
			return "", err
		}
	}
	file, err := written(g)
	if err != nil {
		return "", err
	}
	if _, err := inRuntime(t.ort, file, t.in, small); err != nil {
		return "", fmt.Errorf("the cut model: %w", err)
	}
	left := fmt.Sprintf("%.0f %%", 100*float64(elements(g))/float64(elements(t.g)))
	if p.NormalizedAxes {
		return left, errNormalized
	}
	return left, nil
}

// elements counts those of all initializers, quantized ones among them.
func elements(g *nn.Graph) int {
	n := 0
	for p := range g.Params() {
		n += p.Size()
	}
	return n
}

// sameMasked compares the results of the pruned model with those of the whole one with the removed slices zeroed.
func (t *trial) sameMasked(ctx context.Context, feed, small nn.Feed, cuts []nn.Cut) error {
	masked, err := t.g.Clone()
	if err != nil {
		return err
	}
	if err := mask(masked, cuts); err != nil {
		return err
	}
	whole, err := masked.Eval(ctx, feed)
	if err != nil {
		return err
	}
	for name, v := range whole {
		x, err := dtype.Float64s(v.(*tensor.Dense))
		if err != nil {
			return err
		}
		y, err := dtype.Float64s(small[name].(*tensor.Dense))
		if err != nil {
			return err
		}
		if len(x) != len(y) {
			return fmt.Errorf("output %s of the cut model has %d elements, not %d", name, len(y), len(x))
		}
		if d := difference(y, x); !(d <= 1e-5) {
			return fmt.Errorf("output %s of the cut model differs from the masked one's by %.1e", name, d)
		}
	}
	return nil
}

// mask zeroes in the whole model the slices that a plan removes, except for divisors.
func mask(g *nn.Graph, cuts []nn.Cut) error {
	return g.Edit(func(e *nn.Edit) {
		for _, c := range cuts {
			v := e.Value(c.Initializer)
			if v == nil || v.Param() == nil || divides(v) {
				continue
			}
			d := dtype.Clone(direct.Data(v.Param()))
			inner, outer := int(d.Dtype().Size()), 1
			for i, n := range d.Shape() {
				if i < c.Axis {
					outer *= n
				} else if i > c.Axis {
					inner *= n
				}
			}
			b := dtype.Bytes(d)
			for o := range outer {
				for _, i := range c.Removed {
					clear(b[(o*c.Before+i)*inner:][:inner])
				}
			}
			direct.SetData(e, v, d)
		}
	})
}

// divides reports whether a value is a divisor, an exponent or an index.
func divides(v *nn.Value) bool {
	for _, u := range v.Users() {
		switch u.Type() {
		case "Div", "Pow", "Gather":
			if u.In(1) == v {
				return true
			}
		}
	}
	return false
}
