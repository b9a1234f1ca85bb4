package train

import (
	"math"
	"slices"
)

// logistic is a linear classifier: the scores of a row x are weight·x + bias.
type logistic struct {
	weight [][]float64 // [classes][features]
	bias   []float64
	decay  float64 // chosen weight decay
	scale  float64 // factor that the scores were multiplied by
}

// problem is a linear model on standardized features: multinomial logistic regression by the mean cross-entropy or, with
// targets, ridge regression by half the mean squared error; plus half of decay times the squares of the weights.
type problem struct {
	x       [][]float32 // standardized
	y       []int       // classes
	target  []float64   // regression targets in place of classes; classes is then 1
	classes int
	decay   float64
	slack   float64 // relative increase of the minimal loss that a larger decay may cause
}

// regress fits a linear model to the rows of p, which are not yet standardized; the decay is chosen by cross-validation.
// It also returns the accuracy on the held-out folds, 0 for regression.
func (p problem) regress(views int, seed uint64) (logistic, float64) {
	mean, scale := standards(p.x)
	x := make([][]float32, len(p.x))
	for i, r := range p.x {
		x[i] = make([]float32, len(r))
		for k, v := range r {
			x[i][k] = (v - mean[k]) * scale[k]
		}
	}
	p.x = x
	var accuracy float64
	var factor float64
	p.decay, factor, accuracy = p.choose(views, seed)
	w := p.solve(nil)
	d := len(mean)
	for i := range w {
		w[i] *= factor
	}
	fit := logistic{bias: make([]float64, p.classes), decay: p.decay, scale: factor}
	for c := range p.classes {
		row := make([]float64, d)
		fit.bias[c] = w[c*(d+1)+d]
		for k := range d {
			row[k] = w[c*(d+1)+k] * float64(scale[k])
			fit.bias[c] -= row[k] * float64(mean[k])
		}
		fit.weight = append(fit.weight, row)
	}
	return fit, accuracy
}

// standards returns the means of features and the reciprocals of their deviations. For indicators (0 or 1) the latter is 1, so that
// the decay keeps rare categories closer to the mean.
func standards(rows [][]float32) (mean, scale []float32) {
	d := len(rows[0])
	sum, square, measured := make([]float64, d), make([]float64, d), make([]bool, d)
	for _, r := range rows {
		for k, v := range r {
			sum[k] += float64(v)
			measured[k] = measured[k] || v != 0 && v != 1
		}
	}
	n := float64(len(rows))
	for _, r := range rows {
		for k, v := range r {
			e := float64(v) - sum[k]/n
			square[k] += e * e
		}
	}
	typical := 0.0
	for k := range d {
		typical += math.Sqrt(square[k]/n) / float64(d)
	}
	mean, scale = make([]float32, d), make([]float32, d)
	for k := range d {
		mean[k] = float32(sum[k] / n)
		if scale[k] = 1; !measured[k] {
			continue
		}
		// The second term keeps features that hardly vary from being scaled up to the others.
		scale[k] = float32(1 / (math.Sqrt(square[k]/n) + 0.1*typical + 1e-12))
	}
	return mean, scale
}

func (p problem) scores(w []float64, x []float32) []float64 {
	d := len(x)
	out := make([]float64, p.classes)
	for c := range out {
		row := w[c*(d+1):][:d+1]
		s := row[d]
		for k, v := range x {
			s += row[k] * float64(v)
		}
		out[c] = s
	}
	return out
}

// value returns the objective and its gradient, which is written to g.
func (p problem) value(w, g []float64) float64 {
	d, n := len(p.x[0]), float64(len(p.x))
	loss := 0.0
	for c := range p.classes {
		for k := range d {
			v := w[c*(d+1)+k]
			loss += p.decay / 2 * v * v
			g[c*(d+1)+k] = p.decay * v
		}
		g[c*(d+1)+d] = 0
	}
	for i, x := range p.x {
		s := p.scores(w, x)
		if p.target != nil {
			e := (s[0] - p.target[i]) / n
			loss += e * (s[0] - p.target[i]) / 2
			for k, v := range x {
				g[k] += e * float64(v)
			}
			g[d] += e
			continue
		}
		top, sum := slices.Max(s), 0.0
		for _, v := range s {
			sum += math.Exp(v - top)
		}
		loss += (top + math.Log(sum) - s[p.y[i]]) / n
		for c, v := range s {
			e := math.Exp(v-top) / sum
			if c == p.y[i] {
				e--
			}
			e /= n
			row := g[c*(d+1):][:d+1]
			for k, v := range x {
				row[k] += e * float64(v)
			}
			row[d] += e
		}
	}
	return loss
}
