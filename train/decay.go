package train

import (
	"math"
	"slices"
	"sync"

	"github.com/graft-ml/graft/train/data"
)

const foldRows = 2000 // larger sets are subsampled to choose the decay

// decays are the values to try, in descending order, three per decade.
var decays = func() (list []float64) {
	for k := range 19 {
		list = append(list, math.Pow(10, 2-float64(k)/3))
	}
	return list
}()

// mostFolds is the number of folds of small problems.
const mostFolds = 5

// choose tries decays on held-out folds until smaller ones no longer improve the loss. The views of a sample are in the same fold.
// For classes, losses are compared after the scores are multiplied by the factor that minimizes the loss, scale: a strong decay
// shrinks all scores without changing their order, and scaling calibrates them. The largest decay whose loss is within the slack of
// the minimum is chosen. It is converted to the number of all rows, since the best decay is inversely proportional to the rows.
func (p problem) choose(views int, seed uint64) (decay, scale, accuracy float64) {
	samples := len(p.x) / views
	order := data.Order(samples, seed, 0)
	folds := mostFolds
	if samples*views > foldRows {
		order, folds = order[:min(samples, max(foldRows/views, 10*p.classes))], 3
	}
	folds = min(folds, len(order))
	if folds < 2 {
		return 0.1, 1, 0
	}
	parts, warm := make([]problem, folds), make([][]float64, folds)
	held := make([][]int, folds)
	for f := range folds {
		parts[f].classes = p.classes
		for at, i := range order {
			if at%folds == f {
				held[f] = append(held[f], i) // only the view without augmentation
				continue
			}
			for v := range views {
				parts[f].take(p, v*samples+i)
			}
		}
	}
	type tried struct{ decay, scale, loss, accuracy float64 }
	var all []tried
	best, worse := math.Inf(1), 0
	for _, try := range decays {
		scores := make([][]float64, len(p.x))
		var wait sync.WaitGroup
		for f := range folds {
			wait.Go(func() {
				parts[f].decay = try
				warm[f] = parts[f].solve(warm[f])
				for _, i := range held[f] {
					scores[i] = p.scores(warm[f], p.x[i])
				}
			})
		}
		wait.Wait()
		by := p.bestScale(scores, order)
		loss, right := p.score(scores, order, by)
		all = append(all, tried{try, by, loss, float64(right) / float64(len(order))})
		if worse++; loss < best {
			best, worse = loss, 0
		}
		if worse == 3 {
			break
		}
	}
	i := slices.IndexFunc(all, func(t tried) bool { return t.loss <= (1+p.slack)*best })
	if i < 0 {
		return 0.1, 1, 0 // some features are NaN
	}
	return all[i].decay * float64(len(parts[0].x)) / float64(len(p.x)), all[i].scale, all[i].accuracy
}

// bestScale returns the factor on the scores that minimizes the loss, 1 for regression: by golden-section search over its logarithm, in
// which the loss is unimodal.
func (p problem) bestScale(scores [][]float64, rows []int) float64 {
	if p.target != nil {
		return 1
	}
	const ratio = 0.6180339887498949
	loss := func(x float64) float64 {
		l, _ := p.score(scores, rows, math.Exp(x))
		return l
	}
	low, high := -3.0, 3.0
	a, b := high-ratio*(high-low), low+ratio*(high-low)
	at, bt := loss(a), loss(b)
	for high-low > 0.02 {
		if at < bt {
			high, b, bt = b, a, at
			a = high - ratio*(high-low)
			at = loss(a)
		} else {
			low, a, at = a, b, bt
			b = low + ratio*(high-low)
			bt = loss(b)
		}
	}
	return math.Exp((low + high) / 2)
}

// take adds row i of another problem.
func (p *problem) take(from problem, i int) {
	p.x = append(p.x, from.x[i])
	if from.target != nil {
		p.target = append(p.target, from.target[i])
	} else {
		p.y = append(p.y, from.y[i])
	}
}

// score returns the sum of the losses of the given rows, with scores multiplied by scale, and the number of correct predictions.
func (p problem) score(scores [][]float64, rows []int, scale float64) (loss float64, right int) {
	for _, i := range rows {
		q := scores[i]
		if p.target != nil {
			loss += (q[0] - p.target[i]) * (q[0] - p.target[i])
			continue
		}
		top := slices.Max(q)
		if slices.Index(q, top) == p.y[i] {
			right++
		}
		sum := 0.0
		for _, v := range q {
			sum += math.Exp(scale * (v - top))
		}
		loss += math.Log(sum) - scale*(q[p.y[i]]-top)
	}
	return loss, right
}
