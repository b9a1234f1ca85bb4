package train

import (
	"context"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
)

// between has the fractions of the weights' change to try, the middle one first. Interpolating between a pretrained model with a new
// classifier and the model fine-tuned on few samples improves generalization: Wortsman et al., Robust fine-tuning of zero-shot models,
// 2022.
var between = []float64{0.5, 0.75, 0.25, 1}

// interpolate evaluates a model that was trained by plan p from start. For a pretrained model with frozen statistics it also evaluates
// interpolated models; the coefficient is then the first one that no later one is significantly better than, and the evaluation is that of
// its model. Afterwards the model has the weights of the last one tried.
func (t *tuning) interpolate(ctx context.Context, start snapshot.Weights, held data.Dataset[data.Sample], p recipe) (coefficient float64, got evaluation, err error) {
	if p.Spread == 1 || !p.HoldStatistics {
		got, err = t.evaluateCalibrated(ctx, held)
		return 0, got, err
	}
	end, err := snapshot.Of(ctx, t.g)
	if err != nil {
		return 0, got, err
	}
	for i, s := range between {
		toward(start, end, s)
		v, err := t.evaluateCalibrated(ctx, held)
		if err != nil {
			return 0, got, err
		}
		if i == 0 || v.better(got) {
			coefficient, got = s, v
		}
	}
	return coefficient, got, nil
}

// evaluateCalibrated returns accuracy and the mean calibrated loss for classifiers without a configured loss, otherwise what evaluate does.
func (t *tuning) evaluateCalibrated(ctx context.Context, s data.Dataset[data.Sample]) (evaluation, error) {
	list, err := t.answers(ctx, s)
	if err := t.ranks.agree(err); err != nil {
		return evaluation{}, err
	}
	if len(list) == 0 || t.Config.Loss != nil {
		return t.evaluate(ctx, s)
	}
	loss, right := 0.0, 0.0
	for _, a := range list {
		loss += a.loss
		if a.right {
			right++
		}
	}
	n := float64(len(list))
	return evaluation{figures: map[string]float64{"loss": loss / n, "accuracy": right / n}, answers: list, samples: s.Len()}, nil
}

// toward sets the model to the interpolation (1 − c)·s + c·end.
func toward(s, end snapshot.Weights, c float64) {
	s.Restore()
	for p, d := range end {
		switch dtype.Of(d.Dtype()) {
		case dtype.Float32:
			blend(dtype.Slice[float32](direct.Data(p)), dtype.Slice[float32](d), float32(c))
		case dtype.Float64:
			blend(dtype.Slice[float64](direct.Data(p)), dtype.Slice[float64](d), c)
		default:
			assign(direct.Data(p), d)
		}
		p.Changed()
	}
}
