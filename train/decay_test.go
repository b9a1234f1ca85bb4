package train

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/train/data"
)

// chosen returns what choose is to find, written down plainly: each fold is fitted from the rows of all views of the samples that are not in it.
func chosen(p problem, views int, seed uint64) (decay, scale, accuracy float64) {
	samples := len(p.x) / views
	order, folds := data.Order(samples, seed, 0), 5
	if len(p.x) > 2000 {
		most := 2000 / views
		if 10*p.classes > most {
			most = 10 * p.classes
		}
		if samples > most {
			order = order[:most]
		}
		folds = 3
	}
	if folds > len(order) {
		folds = len(order)
	}
	var losses, scales, right []float64
	weights := make([][]float64, folds) // a search begins where the last one of its fold ended
	least, since := math.Inf(1), 0
	for _, d := range decays {
		scores := make([][]float64, len(p.x))
		for f := range folds {
			rest := problem{classes: p.classes, decay: d}
			for at, i := range order {
				for v := 0; v < views && at%folds != f; v++ {
					row := v*samples + i
					if rest.x = append(rest.x, p.x[row]); p.target != nil {
						rest.target = append(rest.target, p.target[row])
					} else {
						rest.y = append(rest.y, p.y[row])
					}
				}
			}
			weights[f] = rest.solve(weights[f])
			for at := f; at < len(order); at += folds {
				scores[order[at]] = p.scores(weights[f], p.x[order[at]])
			}
		}
		by := p.bestScale(scores, order)
		loss, n := p.score(scores, order, by)
		losses, scales, right = append(losses, loss), append(scales, by), append(right, float64(n)/float64(len(order)))
		if since++; loss < least {
			least, since = loss, 0
		}
		if since == 3 {
			break
		}
	}
	for i, loss := range losses {
		if loss <= least*(1+p.slack) {
			trained := 0 // of the first fold
			for at := range order {
				if at%folds != 0 {
					trained += views
				}
			}
			return decays[i] * float64(trained) / float64(len(p.x)), scales[i], right[i]
		}
	}
	return 0.1, 1, 0
}

// The decay of a regression: of few rows and many, of several views, of classes and measurements, with and without slack.
func TestChooseDecay(t *testing.T) {
	for _, c := range []struct {
		samples, views, features, classes int
		slack                             float64
	}{
		{2, 1, 2, 2, 0}, {3, 1, 2, 2, 0}, {4, 2, 2, 2, 0.02}, {5, 1, 3, 2, 0.02}, {6, 1, 3, 1, 0}, {23, 1, 3, 3, 0}, {23, 1, 3, 3, 0.3}, {24, 3, 4, 2, 0.02}, {40, 1, 30, 1, 0}, {40, 2, 30, 3, 0.02},
		{2000, 1, 1, 1, 0}, {2001, 1, 1, 1, 0}, {1001, 2, 1, 1, 0}, {1000, 2, 1, 1, 0}, {8, 300, 1, 1, 0},
	} {
		r := rand.New(rand.NewPCG(uint64(c.samples), uint64(c.features)))
		p := problem{classes: c.classes, slack: c.slack}
		for v := range c.views {
			for i := range c.samples {
				row, class := make([]float32, c.features), i%max(2, c.classes)
				for k := range row {
					row[k] = float32(r.NormFloat64() + float64(v)/10)
				}
				if row[0] += float32(class); c.classes == 1 {
					p.target = append(p.target, float64(row[0])+r.NormFloat64())
				} else {
					p.y = append(p.y, class)
				}
				p.x = append(p.x, row)
			}
		}
		decay, scale, accuracy := p.choose(c.views, 3)
		d, s, a := chosen(p, c.views, 3)
		if math.Abs(decay/d-1) > 1e-9 || math.Abs(scale/s-1) > 1e-9 || math.Abs(accuracy-a) > 1e-9 {
			t.Errorf("%+v: decay %v, scale %v, accuracy %v; want %v, %v, %v", c, decay, scale, accuracy, d, s, a)
		}
	}
	nan := float32(math.NaN())
	if d, s, a := (problem{x: [][]float32{{nan}, {nan}, {nan}}, y: []int{0, 1, 0}, classes: 2}).choose(1, 0); d != 0.1 || s != 1 || a != 0 {
		t.Errorf("features that are not numbers: %v, %v, %v", d, s, a)
	}
}
