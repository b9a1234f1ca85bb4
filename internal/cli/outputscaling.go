package cli

import (
	"context"
	"fmt"
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
)

// distribution is the distribution of a target with measured values.
type distribution struct {
	n, sum, squares float64
	offset          float64 // the first value, subtracted so that large means do not cost precision
	shares          bool    // every target is a distribution over classes
}

func (s *distribution) add(v []float64) {
	total, positive := 0.0, len(v) > 1
	for _, x := range v {
		if s.n == 0 {
			s.offset, s.shares = x, true
		}
		s.n++
		s.sum += x - s.offset
		s.squares += (x - s.offset) * (x - s.offset)
		total, positive = total+x, positive && x >= 0
	}
	s.shares = s.shares && positive && math.Abs(total-1) < 1e-3
}

func (s *distribution) scaling() table.Scaling {
	mean := s.sum / s.n
	d := math.Sqrt(max(0, s.squares/s.n-mean*mean))
	if !(d > 0) {
		d = 1
	}
	return table.Scaling{Mean: s.offset + mean, Deviation: d}
}

// mostMeasured is the number of samples on which targets are measured.
const mostMeasured = 2000

// balanceOutputs makes the losses of several outputs comparable: squared errors are divided by the variance of their
// targets. An output that does not predict its target yet, whose values are of another magnitude than a network's,
// gets their mean and deviation as operators at its end.
func (t *training) balanceOutputs(ctx context.Context, g *nn.Graph, fit data.Dataset[data.Sample]) error {
	n := min(fit.Len(), mostMeasured)
	at := make([]int, n)
	for i := range at {
		at[i] = i * fit.Len() / n
	}
	outputs := g.Outputs()
	spreads := make([]distribution, len(outputs))
	var first data.Sample
	for k, i := range at {
		s, err := fit.At(i, data.Rand(t.seed, 0, i))
		if err != nil {
			return err
		}
		if len(s.Y) != len(outputs) {
			return nil // reported by the loss
		}
		if k == 0 {
			first = s
		}
		for o, y := range s.Y {
			if dtype.Of(y.Dtype()).IsFloat() {
				v, err := dtype.Float64s(y)
				if err != nil {
					return err
				}
				spreads[o].add(v)
			}
		}
	}
	batch, err := data.Collate([]data.Sample{first})
	if err != nil {
		return err
	}
	loss := train.Joint{Losses: make([]train.Loss, len(outputs)), Weights: make([]float64, len(outputs))}
	var wide []int
	for o := range outputs {
		loss.Losses[o], loss.Weights[o] = train.CrossEntropy{}, 1
		switch s := &spreads[o]; {
		case s.n > 0 && !s.shares:
			unit := s.scaling()
			loss.Losses[o], loss.Weights[o] = train.MSE{}, 1/(unit.Deviation*unit.Deviation)
			if math.Abs(unit.Mean) > 3*max(1, unit.Deviation) || unit.Deviation > 3 || unit.Deviation < 0.1 {
				wide = append(wide, o)
			}
		case s.n == 0 && train.ClassesLast(outputs[o], batch.Y[o]):
			loss.Losses[o] = train.CrossEntropy{Axis: -1}
		}
	}
	t.config.Loss = loss
	return t.scaleOutputs(ctx, g, data.Subset(fit, at), spreads, wide)
}

// scaleOutputs scales the outputs with the given indices, unless they predict their targets already.
func (t *training) scaleOutputs(ctx context.Context, g *nn.Graph, fit data.Dataset[data.Sample], spreads []distribution, wide []int) error {
	if len(wide) == 0 {
		return nil
	}
	figures, err := train.Evaluate(ctx, g, fit)
	if err != nil {
		return nil // mismatches are reported by the training
	}
	return g.Edit(func(e *nn.Edit) {
		for _, o := range wide {
			out := e.Outputs()[o]
			if figures[out.Name()+"/r2"] > 0.1 || out.Type().DType != dtype.Float32 {
				continue
			}
			unit := spreads[o].scaling()
			t.notes = append(t.notes, fmt.Sprintf("output %s: the target's mean %.4g and deviation %.4g become part of the model", out.Name(), unit.Mean, unit.Deviation))
			e.Insert(out, unit.Layer())
		}
	})
}
