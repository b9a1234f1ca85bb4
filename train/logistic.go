package train

import (
	"fmt"
	"math"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/matmul"
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
func (p problem) regress(views int, seed uint64) (logistic, float64, error) {
	if n := p.bytes(); n >= 1<<20 {
		if err := budget.Charge(n); err != nil {
			return logistic{}, 0, fmt.Errorf("train: a regression of %d features in %d rows: %w", len(p.x[0]), len(p.x), err)
		}
		defer budget.Discharge(n)
	}
	mean, scale := standards(p.x)
	x := make([][]float32, len(p.x))
	for i, r := range p.x {
		x[i] = make([]float32, len(r))
		for k, v := range r {
			x[i][k] = (v - mean[k]) * scale[k]
		}
	}
	p.x = x
	middle := 0.0 // of the targets, which are centered for the float32 products
	if p.target != nil {
		for _, v := range p.target {
			middle += v / float64(len(p.target))
		}
		centered := make([]float64, len(p.target))
		for i, v := range p.target {
			centered[i] = v - middle
		}
		p.target = centered
	}
	var accuracy, factor float64
	p.decay, factor, accuracy = p.choose(views, seed)
	w := p.solve(nil)
	d := len(mean)
	for i := range w {
		w[i] *= factor
	}
	fit := logistic{bias: make([]float64, p.classes), decay: p.decay, scale: factor}
	for c := range p.classes {
		row := make([]float64, d)
		fit.bias[c] = w[c*(d+1)+d] + middle
		for k := range d {
			row[k] = w[c*(d+1)+k] * float64(scale[k])
			fit.bias[c] -= row[k] * float64(mean[k])
		}
		fit.weight = append(fit.weight, row)
	}
	return fit, accuracy, nil
}

// bytes returns about how many bytes a regression takes: its rows, scaled, the scores, and for each fold its list of rows, two lists of ten vectors as
// long as the weights, ten more, and a block of rows.
func (p problem) bytes() int64 {
	rows, width, classes := int64(len(p.x)), int64(len(p.x[0])+1), int64(p.classes)
	return 4*rows*width + 8*rows*classes + mostFolds*(48*rows+30*8*classes*width+4*blockRows*(width+classes))
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

// blockRows is the number of rows that value computes at a time: products of float32, whose sums are float64.
const blockRows = 256

// objective returns a function that returns the objective at w and writes its gradient to g.
func (p problem) objective() func(w, g []float64) float64 {
	width := len(p.x[0]) + 1 // with the bias, whose feature is 1
	x, s := make([]float32, blockRows*width), make([]float32, p.classes*blockRows)
	narrow, sum := make([]float32, p.classes*width), make([]float32, p.classes*width)
	return func(w, g []float64) float64 { return p.value(w, g, x, s, narrow, sum) }
}

// value is what objective returns, with its vectors.
func (p problem) value(w, g []float64, x, s, narrow, sum []float32) float64 {
	width := len(p.x[0]) + 1
	loss := 0.0
	for i, v := range w {
		narrow[i] = float32(v)
		if g[i] = 0; i%width != width-1 {
			loss += p.decay / 2 * v * v
			g[i] = p.decay * v
		}
	}
	pool := kernel.Default()
	for lo := 0; lo < len(p.x); lo += blockRows {
		rows := p.x[lo:min(lo+blockRows, len(p.x))]
		n := len(rows)
		for i, r := range rows {
			copy(x[i*width:], r)
			x[i*width+width-1] = 1
		}
		matmul.Gemm(pool, false, true, p.classes, n, width, 1, narrow, width, x, width, 0, s, n) // scores, [classes, n]
		for i := range rows {
			loss += p.residual(s[i:], n, lo+i)
		}
		matmul.Gemm(pool, false, false, p.classes, width, n, 1, s, n, x, width, 0, sum, width)
		for i, v := range sum {
			g[i] += float64(v)
		}
	}
	return loss
}

// residual returns the part of sample i in the mean loss. Its scores, at s[0], s[n], s[2n] and so on, become the gradient of that.
func (p problem) residual(s []float32, n, i int) float64 {
	all := float64(len(p.x))
	if p.target != nil {
		e := float64(s[0]) - p.target[i]
		s[0] = float32(e / all)
		return e * e / 2 / all
	}
	own, top, sum := float64(s[p.y[i]*n]), s[0], 0.0
	for c := range p.classes {
		top = max(top, s[c*n])
	}
	for c := range p.classes {
		e := math.Exp(float64(s[c*n] - top))
		s[c*n] = float32(e)
		sum += e
	}
	for c := range p.classes {
		s[c*n] = float32(float64(s[c*n]) / sum / all)
	}
	s[p.y[i]*n] -= float32(1 / all)
	return (float64(top) + math.Log(sum) - own) / all
}
