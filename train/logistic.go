package train

import (
	"math"
	"slices"
	"sync"

	"github.com/graft-ml/graft/train/data"
)

// logistic is a linear classifier: the scores of a row x are weight·x + bias.
type logistic struct {
	weight [][]float64 // [classes][features]
	bias   []float64
	decay  float64 // that was chosen
}

// problem is a linear model on standardized features: multinomial logistic regression by the mean cross-entropy or, with
// targets, ridge regression by half the mean squared error; plus half of decay times the squares of the weights.
type problem struct {
	x       [][]float32 // standardized
	y       []int       // classes
	target  []float64   // measurements, in place of classes; classes is 1 then
	classes int
	decay   float64
}

// regress fits a linear model to the rows of p, which are not standardized; the decay is chosen by the loss of folds that are
// held out. It returns the accuracy on those, too, 0 for measurements.
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
	p.decay, accuracy = p.choose(views, seed)
	w := p.solve(nil)
	d := len(mean)
	fit := logistic{bias: make([]float64, p.classes), decay: p.decay}
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

// standards are the means of features and the reciprocals of their deviations.
func standards(rows [][]float32) (mean, scale []float32) {
	d := len(rows[0])
	sum, square := make([]float64, d), make([]float64, d)
	for _, r := range rows {
		for k, v := range r {
			sum[k] += float64(v)
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
		// What hardly varies is not blown up to weigh as much as the rest.
		scale[k] = float32(1 / (math.Sqrt(square[k]/n) + 0.1*typical + 1e-12))
	}
	return mean, scale
}

const foldRows = 2000 // more rows are thinned out to choose the decay

// decays are tried from the largest: three to a power of ten.
var decays = func() (list []float64) {
	for k := range 19 {
		list = append(list, math.Pow(10, 2-float64(k)/3))
	}
	return list
}()

// choose tries decays on held-out folds, until smaller ones only make it worse. The views of a sample are in the same fold. The
// decay is for all rows: those that noise calls for are in proportion to one over the rows.
func (p problem) choose(views int, seed uint64) (decay, accuracy float64) {
	samples := len(p.x) / views
	order := data.Order(samples, seed, 0)
	folds := 5
	if samples*views > foldRows {
		order, folds = order[:min(samples, max(foldRows/views, 10*p.classes))], 3
	}
	folds = min(folds, len(order))
	if folds < 2 {
		return 0.1, 0
	}
	parts, warm := make([]problem, folds), make([][]float64, folds)
	held := make([][]int, folds)
	for f := range folds {
		parts[f].classes = p.classes
		for at, i := range order {
			if at%folds == f {
				held[f] = append(held[f], i) // as it is, without chance
				continue
			}
			for v := range views {
				parts[f].take(p, v*samples+i)
			}
		}
	}
	best, worse := math.Inf(1), 0
	for _, try := range decays {
		losses, rights := make([]float64, folds), make([]int, folds)
		var all sync.WaitGroup
		for f := range folds {
			all.Go(func() {
				parts[f].decay = try
				warm[f] = parts[f].solve(warm[f])
				losses[f], rights[f] = p.judge(warm[f], held[f])
			})
		}
		all.Wait()
		loss, right := 0.0, 0
		for f := range folds {
			loss += losses[f]
			right += rights[f]
		}
		if worse++; loss < best {
			best, decay, accuracy, worse = loss, try, float64(right)/float64(len(order)), 0
		}
		if worse == 3 {
			break
		}
	}
	return decay * float64(len(parts[0].x)) / float64(len(p.x)), accuracy
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

// judge is the sum of the losses of weights on the given rows, and how many classes are right.
func (p problem) judge(w []float64, rows []int) (loss float64, right int) {
	for _, i := range rows {
		q := p.scores(w, p.x[i])
		if p.target != nil {
			loss += (q[0] - p.target[i]) * (q[0] - p.target[i])
			continue
		}
		if slices.Index(q, slices.Max(q)) == p.y[i] {
			right++
		}
		loss -= math.Log(max(softmax(q)[p.y[i]], 1e-12))
	}
	return loss, right
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

// value is the objective and its gradient, which is written to g.
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

// solve minimizes by L-BFGS (Nocedal, 1980) with ten pairs and a backtracking line search, from w or from nothing.
func (p problem) solve(w []float64) []float64 {
	const pairs, steps = 10, 100
	size := p.classes * (len(p.x[0]) + 1)
	w = slices.Clone(w)
	if w == nil {
		w = make([]float64, size)
	}
	g, next, after := make([]float64, size), make([]float64, size), make([]float64, size)
	f := p.value(w, g)
	var s, y [][]float64
	for range steps {
		dir := twoLoop(g, s, y)
		slope := dot(dir, g)
		if slope >= 0 || norm(g) < 1e-5*max(1, norm(w)) {
			break
		}
		t, moved := 1.0, false
		if len(s) == 0 {
			t = min(1, 1/norm(g))
		}
		var value float64
		for range 30 {
			for i := range w {
				next[i] = w[i] + t*dir[i]
			}
			if value = p.value(next, after); value <= f+1e-4*t*slope {
				moved = true
				break
			}
			t /= 2
		}
		if !moved {
			break
		}
		ds, dy := make([]float64, size), make([]float64, size)
		for i := range w {
			ds[i], dy[i] = next[i]-w[i], after[i]-g[i]
		}
		if dot(ds, dy) > 1e-12 {
			s, y = append(s, ds), append(y, dy)
			if len(s) > pairs {
				s, y = s[1:], y[1:]
			}
		}
		done := f-value < 1e-7*max(1e-3, f)
		copy(w, next)
		copy(g, after)
		f = value
		if done {
			break
		}
	}
	return w
}

// twoLoop is the direction −H·g of L-BFGS.
func twoLoop(g []float64, s, y [][]float64) []float64 {
	q := slices.Clone(g)
	alpha := make([]float64, len(s))
	for i := len(s) - 1; i >= 0; i-- {
		alpha[i] = dot(s[i], q) / dot(s[i], y[i])
		for k := range q {
			q[k] -= alpha[i] * y[i][k]
		}
	}
	if n := len(s); n > 0 {
		scale := dot(s[n-1], y[n-1]) / dot(y[n-1], y[n-1])
		for k := range q {
			q[k] *= scale
		}
	}
	for i := range s {
		beta := dot(y[i], q) / dot(s[i], y[i])
		for k := range q {
			q[k] += (alpha[i] - beta) * s[i][k]
		}
	}
	for k := range q {
		q[k] = -q[k]
	}
	return q
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i, x := range a {
		s += x * b[i]
	}
	return s
}

func norm(a []float64) float64 { return math.Sqrt(dot(a, a)) }
