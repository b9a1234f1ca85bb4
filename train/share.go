package train

import (
	"context"

	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
)

// between has the fractions of the weights' change to try, the middle one first. Interpolating between a pretrained model with a new
// classifier and the model fine-tuned on few samples improves generalization: Wortsman et al., Robust fine-tuning of zero-shot models,
// 2022.
var between = []float64{0.5, 0.75, 0.25, 1}

// share evaluates a model that was trained by plan p from start. For a pretrained model with frozen statistics it also evaluates
// interpolated models; the share is then the first one that no later one is significantly better than, and the verdict is that of
// its model. Afterwards the model has the weights of the last one tried.
func (t *tuning) share(ctx context.Context, start snapshot.Weights, held data.Dataset[data.Sample], p recipe) (share float64, got verdict, err error) {
	if p.Spread == 1 || !p.HoldStatistics {
		got, err = t.glance(ctx, held)
		return 0, got, err
	}
	end := snapshot.Of(t.g)
	for i, s := range between {
		toward(start, end, s)
		v, err := t.glance(ctx, held)
		if err != nil {
			return 0, got, err
		}
		if i == 0 || v.better(got) {
			share, got = s, v
		}
	}
	return share, got, nil
}

// glance is verdictOn, but for classifiers without a configured loss it computes only the metrics that follow from the answers.
func (t *tuning) glance(ctx context.Context, s data.Dataset[data.Sample]) (verdict, error) {
	list, err := t.answers(ctx, s)
	if err := t.ranks.agree(err); err != nil {
		return verdict{}, err
	}
	if len(list) == 0 || t.Config.Loss != nil {
		return t.verdictOn(ctx, s)
	}
	loss, right := 0.0, 0.0
	for _, a := range list {
		loss += a.loss
		if a.right {
			right++
		}
	}
	n := float64(len(list))
	return verdict{figures: map[string]float64{"loss": loss / n, "accuracy": right / n}, answers: list, samples: s.Len()}, nil
}

// toward sets the model to the interpolation (1 − share)·s + share·end.
func toward(s, end snapshot.Weights, share float64) {
	s.Restore()
	for p, d := range end {
		switch dtype.Of(d.Dtype()) {
		case dtype.Float32:
			blend(dtype.Slice[float32](p.Data()), dtype.Slice[float32](d), float32(share))
		case dtype.Float64:
			blend(dtype.Slice[float64](p.Data()), dtype.Slice[float64](d), share)
		default:
			assign(p.Data(), d)
		}
		p.Changed()
	}
}
