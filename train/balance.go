package train

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
)

// mostMeasured is the number of samples on which targets are measured.
const mostMeasured = 2000

// Balance returns the loss that FineTune trains if Config.Loss is nil and samples have several targets, for training in another
// way: a Joint in which squared errors are divided by the variance of their targets, measured on up to 2000 samples of s. It is
// nil for samples of one target. An output that does not predict its target yet, whose values are of another
// magnitude than a network's, gets their mean and deviation as operators at its end, of which Config.Log is told.
func (f FineTuner) Balance(ctx context.Context, g *nn.Graph, s data.Dataset[data.Sample]) (Loss, error) {
	if g == nil || s == nil || s.Len() == 0 {
		return nil, errors.New("train: there is nothing to balance: want a graph and samples")
	}
	seed, log := f.Config.Seed, f.Config.Log
	n := min(s.Len(), mostMeasured)
	at := make([]int, n)
	for i := range at {
		at[i] = i * s.Len() / n
	}
	outputs := g.Outputs()
	spreads := make([]distribution, len(outputs))
	var first data.Sample
	for k, i := range at {
		x, err := s.At(i, data.Rand(seed, 0, i))
		if err != nil {
			return nil, err
		}
		if len(x.Y) < 2 || len(x.Y) != len(outputs) {
			return nil, nil // a wrong number is reported by the loss
		}
		if k == 0 {
			first = x
		}
		for o, y := range x.Y {
			if dtype.Of(y.Dtype()).IsFloat() {
				v, err := dtype.Float64s(y)
				if err != nil {
					return nil, err
				}
				spreads[o].add(v)
			}
		}
	}
	batch, err := data.Collate([]data.Sample{first})
	if err != nil {
		return nil, err
	}
	loss := Joint{Losses: make([]Loss, len(outputs)), Weights: make([]float64, len(outputs))}
	var wide []int
	for o, out := range outputs {
		d := &spreads[o]
		numbers := d.n > 0 && !d.shares
		loss.Losses[o], loss.Weights[o] = lossFor(batch.Y[o], numbers, out), 1
		if !numbers {
			continue
		}
		unit := d.scaling()
		loss.Weights[o] = 1 / (unit.Deviation * unit.Deviation)
		if math.Abs(unit.Mean) > 3*max(1, unit.Deviation) || unit.Deviation > 3 || unit.Deviation < 0.1 {
			wide = append(wide, o)
		}
	}
	return loss, scaleOutputs(ctx, g, data.Subset(s, at), spreads, wide, log)
}

// scaleOutputs scales the outputs with the given indices, unless they predict their targets already.
func scaleOutputs(ctx context.Context, g *nn.Graph, s data.Dataset[data.Sample], spreads []distribution, wide []int, log func(Event)) error {
	if len(wide) == 0 {
		return nil
	}
	figures, err := Evaluate(ctx, g, s)
	if err != nil {
		return ctx.Err() // mismatches are reported by the training
	}
	return g.EditUntil(ctx, func(e *nn.Edit) {
		for _, o := range wide {
			out := e.Outputs()[o]
			if figures[out.Name()+"/r2"] > 0.1 || out.Type().DType != dtype.Float32 {
				continue
			}
			unit := spreads[o].scaling()
			if log != nil {
				log(Event{Kind: Note, Text: fmt.Sprintf("output %s: the target's mean %.4g and deviation %.4g become part of the model", out.Name(), unit.Mean, unit.Deviation)})
			}
			e.Insert(out, unit.Layer())
		}
	})
}

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

func (s *distribution) scaling() Scaling {
	mean := s.sum / s.n
	d := math.Sqrt(max(0, s.squares/s.n-mean*mean))
	if !(d > 0) {
		d = 1
	}
	return Scaling{Mean: s.offset + mean, Deviation: d}
}
