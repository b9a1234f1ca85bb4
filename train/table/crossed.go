package table

import (
	"context"

	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

// fewRows and fewCells limit the rows of a table, and rows times features, for which Blend cross-validates the network, since a single
// validation set would be too small.
const fewRows, fewCells = 400, 20_000

// folds is the number of folds of the cross-validation.
const folds = 5

// crossed is Apply for few rows: it chooses the weight of the linear model by cross-validation on all rows, and then fits both models
// to all of them. The metrics are those of the original network, blended with that weight.
func (b Blend) crossed(ctx context.Context, t *Trunk, judge *train.Trainer, fit, val data.Dataset[data.Sample]) (out Blended, err error) {
	before := snapshot.Of(t.Rest)
	all := data.Concat(fit, val)
	order := data.Order(all.Len(), b.Seed, 0)
	each := make([][]float64, len(shares)) // losses of all rows
	var constant []float64
	var last lastLayers
	for f := range folds {
		var in, held []int
		for at, i := range order {
			if at%folds == f {
				held = append(held, i)
			} else {
				in = append(in, i)
			}
		}
		rest, judges := data.Subset(all, in), data.Subset(all, held)
		if err := b.Anew(ctx, rest); err != nil {
			return out, err
		}
		if last, err = findLastLayers(t.Rest); err != nil {
			return out, err
		}
		got, err := b.try(ctx, t, last, rest, judges)
		if err != nil {
			return out, err
		}
		for i := range each {
			each[i] = append(each[i], got.each[i]...)
		}
		constant = append(constant, got.constant...)
	}
	out.Linear, out.Folds = shares[choose(each, constant, 0)], folds

	before.Restore()
	l, _, err := b.linear(ctx, t, fit)
	if err != nil {
		return out, err
	}
	if last, err = findLastLayers(t.Rest); err != nil {
		return out, err
	}
	last.set(l, out.Linear)
	if out.Val, err = judge.Evaluate(ctx, val); err != nil {
		return out, err
	}
	if err := b.Anew(ctx, all); err != nil {
		return out, err
	}
	if l, _, err = b.linear(ctx, t, all); err != nil {
		return out, err
	}
	if last, err = findLastLayers(t.Rest); err != nil {
		return out, err
	}
	last.set(l, out.Linear)
	if out.Linear > 0 {
		out.Decay = l.Decay
	}
	return out, nil
}

// trial holds the results from which Blend chooses: the linear model, and the losses of the held-out rows for each share of it and for
// a constant.
type trial struct {
	linear   train.LinearFit
	each     [][]float64
	constant []float64
}

// try fits the linear model to fit, and evaluates its blends with the network on val.
func (b Blend) try(ctx context.Context, t *Trunk, last lastLayers, fit, val data.Dataset[data.Sample]) (got trial, err error) {
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
