package train

import (
	"context"
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// gained reports whether all layers made the model better than the classifier alone did, for whose answers the validation's
// samples had the given losses. Many samples judge by themselves. A few are joined by those that plans were compared on: then it
// is enough that no more of them are wrong. Where no plans were compared, the losses must have fallen by more than
// chance makes them differ, as the standard error of their mean says.
func (t *tuning) gained(ctx context.Context, before []float64) (bool, error) {
	n := t.valSize()
	fewer := t.out.Val["accuracy"] < t.out.Head["accuracy"]
	switch {
	case n >= fewJudges || before == nil || !finite(t.out.Val["loss"]):
		return better(t.out.Val, t.out.Head, n), nil
	case fewer || t.plan.Raced:
		return !fewer, nil
	}
	after, err := t.surprise(ctx)
	if err != nil || len(after) != len(before) {
		return false, err
	}
	return fell(before, after), nil
}

// fell reports whether the mean of paired losses fell by more than its standard error.
func fell(before, after []float64) bool {
	n, sum, square := float64(len(before)), 0.0, 0.0
	for i, b := range before {
		d := b - after[i]
		sum += d
		square += d * d
	}
	mean := sum / n
	return mean > math.Sqrt(max(0, square/n-mean*mean)/max(1, n-1))
}

// surprise is −log of the probability of each of the validation's classes; nil where they are too many to matter, or are no
// single classes.
func (t *tuning) surprise(ctx context.Context) (losses []float64, err error) {
	if t.val == nil || t.valSize() >= fewJudges || classesOf(t.g) == 0 || !t.singleClasses() {
		return nil, nil
	}
	name := t.g.Outputs()[0].Name()
	for b, err := range (data.Loader{Batch: 16}).Batches(ctx, t.val, 0) {
		if err != nil {
			return nil, err
		}
		feed := nn.Feed{}
		for i, v := range t.g.Inputs() {
			if i < len(b.X) {
				feed[v.Name()] = b.X[i]
			}
		}
		out, err := t.g.Eval(ctx, feed, name)
		if err != nil {
			return nil, err
		}
		rows, err := probabilities(out[name].(*tensor.Dense), b.Y[0].Shape()[0])
		if err != nil {
			return nil, nil
		}
		at := 0
		err = eachLabel(b.Y[0], func(_, c int) error {
			if at < len(rows) && c >= 0 && c < len(rows[at]) {
				losses = append(losses, -math.Log(max(rows[at][c], 1e-9)))
			}
			at++
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return losses, nil
}
