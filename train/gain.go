package train

import (
	"context"
	"math"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// evaluation is the evaluation of a model on a set: metrics, and for classes the answer for each sample.
type evaluation struct {
	figures map[string]float64
	answers []answer
	samples int
}

// answer is the result of a classifier for a sample.
type answer struct {
	loss  float64 // −log of the probability of the true class, calibrated over all samples (see calibrated)
	right bool
}

// evaluate evaluates the model on a set, which may be nil or empty.
func (t *tuning) evaluate(ctx context.Context, s data.Dataset[data.Sample]) (v evaluation, err error) {
	if s == nil || s.Len() == 0 {
		return v, nil
	}
	v.samples = s.Len()
	if v.figures, err = t.metricsOn(ctx, s); err != nil {
		return v, err
	}
	v.answers, err = t.answers(ctx, s)
	return v, t.ranks.agree(err)
}

// better reports whether v is a significant improvement on w: no fewer correct answers, and a difference of correct answers, or of
// losses, that exceeds its standard error over paired samples.
func (v evaluation) better(w evaluation) bool {
	if len(v.answers) == 0 || len(v.answers) != len(w.answers) {
		return better(v.figures, w.figures, v.samples)
	}
	gained, lost := v.changes(w)
	return gained >= lost && (exceeds(gained-lost, gained+lost) || v.lowerLoss(w))
}

// clearlyWorse reports whether v has fewer correct answers than w by more than two standard errors, or losses that are not finite.
func (v evaluation) clearlyWorse(w evaluation) bool {
	gained, lost := v.changes(w)
	return !finite(v.figures["loss"]) || exceeds(lost-gained, 4*(gained+lost))
}

// changes returns the number of answers that are correct only in v, and only in w.
func (v evaluation) changes(w evaluation) (gained, lost int) {
	for i, a := range v.answers {
		switch {
		case a.right && !w.answers[i].right:
			gained++
		case !a.right && w.answers[i].right:
			lost++
		}
	}
	return gained, lost
}

// exceeds reports whether a difference of two counts is larger than its standard error, the square root of their sum.
func exceeds(difference, sum int) bool { return difference > 0 && difference*difference > sum }

// lowerLoss reports whether the mean of the paired losses is lower in v by more than its standard error.
func (v evaluation) lowerLoss(w evaluation) bool {
	n, sum, square := float64(len(v.answers)), 0.0, 0.0
	for i, a := range v.answers {
		d := w.answers[i].loss - a.loss
		sum += d
		square += d * d
	}
	mean := sum / n
	return mean > math.Sqrt(max(0, square/n-mean*mean)/max(1, n-1))
}

// gained reports whether the trained layers are kept, given the validation evaluations before and after training them. Many validation
// samples decide alone. With few, training must not be clearly worse if it was better on held-out samples before, and otherwise must
// be significantly better.
func (t *tuning) gained(before, after evaluation) bool {
	switch {
	case t.valSize() >= enoughValidation || len(before.answers) == 0 || len(before.answers) != len(after.answers):
		return better(after.figures, before.figures, t.valSize())
	case t.plan.BetterThanHead:
		return !after.clearlyWorse(before)
	}
	return after.better(before)
}

// answers returns the model's answer for each sample; nil if targets are not single classes.
func (t *tuning) answers(ctx context.Context, s data.Dataset[data.Sample]) (list []answer, err error) {
	if classesOf(t.g) == 0 || !singleClasses(t.fit) {
		return nil, nil
	}
	name := t.g.Outputs()[0].Name()
	var losses []lossesByScale
	for b, err := range (data.BatchLoader{Batch: 16}).Batches(ctx, s, 0) {
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
				p := rows[at]
				list = append(list, answer{right: slices.Index(p, slices.Max(p)) == c})
				losses = append(losses, scaledLosses(p, c))
			}
			at++
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	best := calibrated(losses)
	for i, l := range losses {
		list[i].loss = l[best]
	}
	return list, nil
}

// lossesByScale are losses of a sample with its scores multiplied by ¼, ½, ¾, 1, 1½, 2, 3 and 4.
type lossesByScale [8]float64

// scaledLosses returns −log of the probability of class c, for probabilities p.
func scaledLosses(p []float64, c int) lossesByScale {
	var sum, own lossesByScale
	for i, x := range p {
		x = max(x, 1e-20)
		root := math.Sqrt(x)
		fourth := math.Sqrt(root)
		square := x * x
		powers := lossesByScale{fourth, root, root * fourth, x, x * root, square, square * x, square * square}
		for k, y := range powers {
			sum[k] += y
		}
		if i == c {
			own = powers
		}
	}
	for k := range own {
		own[k] = math.Log(sum[k] / own[k])
	}
	return own
}

// calibrated returns the scale with the lowest mean loss. Models are compared at their best scales, since label smoothing and the length of
// training change how confident a classifier is, and a temperature would correct that.
func calibrated(losses []lossesByScale) (best int) {
	var sum lossesByScale
	for _, l := range losses {
		for k, x := range l {
			sum[k] += x
		}
	}
	for k := range sum {
		if sum[k] < sum[best] {
			best = k
		}
	}
	return best
}
