package table

import (
	"context"
	"math"

	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

// fewRows and fewCells limit the rows of a table, and rows times features, for which Blend cross-validates the network, since a single
// validation set would be too small, and would be missing from the training.
const fewRows, fewCells = 1000, 50_000

// foldsFor returns the number of folds of the cross-validation: each costs a training of the network, and more rows need fewer.
func foldsFor(rows int) int {
	if rows <= 400 {
		return 5
	}
	return 3
}

// crossed is Apply for few rows: it chooses the way of training and the weight of the linear model by cross-validation on all rows, and
// then fits both models to all of them, the network being the mean of several. The metrics are those of both models fitted to the
// training rows.
func (b Blend) crossed(ctx context.Context, t *Trunk, evaluator *train.Trainer, fit, val data.Dataset[data.Sample]) (out Blended, err error) {
	before, err := snapshot.Of(ctx, t.Rest)
	if err != nil {
		return out, err
	}
	all := data.Concat(fit, val)
	order := data.Order(all.Len(), b.Seed, 0)
	ways := make([]trial, max(1, b.Ways)) // with the losses of all rows
	out.Folds = foldsFor(all.Len())
	for f := range out.Folds {
		var in, held []int
		for at, i := range order {
			if at%out.Folds == f {
				held = append(held, i)
			} else {
				in = append(in, i)
			}
		}
		rest, validation := data.Subset(all, in), data.Subset(all, held)
		for way := range ways {
			if err := b.Anew(ctx, rest, way, 0); err != nil {
				return out, err
			}
			got, err := b.try(ctx, t, rest, validation)
			if err != nil {
				return out, err
			}
			ways[way].append(got)
		}
	}
	least := math.Inf(1)
	for way, w := range ways {
		at := choose(w.each, w.constant, 0)
		if loss := mean(w.each[at]); way == 0 || loss < least {
			least, out.Way, out.Linear = loss, way, shares[at]
		}
	}

	if out.Way == 0 {
		before.Restore()
	} else if err := b.Anew(ctx, fit, out.Way, 0); err != nil {
		return out, err
	}
	if _, err := b.mix(ctx, t, fit, out.Linear); err != nil {
		return out, err
	}
	if out.Val, err = evaluator.Evaluate(ctx, val); err != nil {
		return out, err
	}
	if err := b.average(ctx, t, all, out.Way); err != nil {
		return out, err
	}
	l, err := b.mix(ctx, t, all, out.Linear)
	if out.Linear > 0 {
		out.Decay = l.Decay
	}
	return out, err
}

// mix fits the linear model to a set and gives it the weight share in the network.
func (b Blend) mix(ctx context.Context, t *Trunk, s data.Dataset[data.Sample], share float64) (train.LinearFit, error) {
	l, _, err := b.linear(ctx, t, s)
	if err != nil {
		return l, err
	}
	last, err := findLastLayers(t.Rest)
	if err == nil {
		last.set(l, share)
	}
	return l, err
}

// trial holds the results from which Blend chooses: the linear model, and the losses of the held-out rows for each share of it and for
// a constant.
type trial struct {
	linear   train.LinearFit
	each     [][]float64
	constant []float64
}

// append adds the rows of another fold.
func (a *trial) append(b trial) {
	if a.each == nil {
		a.each = make([][]float64, len(b.each))
	}
	for i := range b.each {
		a.each[i] = append(a.each[i], b.each[i]...)
	}
	a.constant = append(a.constant, b.constant...)
}

// try fits the linear model to fit, and evaluates its blends with the network on val.
func (b Blend) try(ctx context.Context, t *Trunk, fit, val data.Dataset[data.Sample]) (got trial, err error) {
	last, err := findLastLayers(t.Rest)
	if err != nil {
		return got, err
	}
	var shareOf []float64
	if got.linear, shareOf, err = b.linear(ctx, t, fit); err != nil {
		return got, err
	}
	for _, share := range shares {
		last.set(got.linear, share)
		losses, err := rowLosses(ctx, t.Rest, val)
		if err != nil {
			return got, err
		}
		got.each = append(got.each, losses)
	}
	last.set(constantFit(got.linear, shareOf), 1)
	got.constant, err = rowLosses(ctx, t.Rest, val)
	return got, err
}
