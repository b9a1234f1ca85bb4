package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Means and deviations of features; what hardly varies is not blown up.
func TestStandards(t *testing.T) {
	mean, scale := standards([][]float32{{1, 10, 0}, {3, 10, 8}, {1, 10, 0}, {3, 10, 8}})
	// Deviations 1, 0 and 4: 5/3 is typical.
	for k, want := range [][2]float64{{2, 1 / (1 + 0.5/3)}, {10, 1 / (0.5 / 3)}, {4, 1 / (4 + 0.5/3)}} {
		near(t, "mean", float64(mean[k]), want[0], 1e-6)
		near(t, "scale", float64(scale[k]), want[1], 1e-6)
	}
	if _, scale := standards([][]float32{{5}, {5}}); math.IsInf(float64(scale[0]), 0) || scale[0] < 1e11 {
		t.Errorf("the scale of a constant is %v", scale[0])
	}
}

// The objective of both problems, by hand.
func TestRegressionObjective(t *testing.T) {
	measured := problem{x: [][]float32{{-1}, {1}}, target: []float64{0, 4}, classes: 1, decay: 1}
	g := make([]float64, 2)
	near(t, "half of the mean square", measured.value([]float64{0, 0}, g), 4, 1e-12)
	if !slices.Equal(g, []float64{-2, -2}) {
		t.Errorf("gradient %v, want -2, -2", g)
	}
	near(t, "with decay", measured.value([]float64{2, 1}, g), (1.0+1)/4+2, 1e-12) // 3 − 4 and −1 − 0
	if !slices.Equal(g, []float64{2, -1}) {
		t.Errorf("gradient %v, want 2, -1", g)
	}
	w := measured.solve(nil)
	near(t, "weight", w[0], 1, 1e-3)
	near(t, "bias", w[1], 2, 1e-3)
	from := []float64{1, 2}
	if again := measured.solve(from); math.Abs(again[0]-1) > 1e-6 || math.Abs(again[1]-2) > 1e-6 || &again[0] == &from[0] {
		t.Errorf("from the solution on: %v", again)
	}
	loss, right := measured.judge([]float64{0, 1}, []int{0, 1, 1})
	if loss != 1+9+9 || right != 0 {
		t.Errorf("judged %v, %d", loss, right)
	}

	classes := problem{x: [][]float32{{1, 0}, {0, 1}, {0, 2}}, y: []int{0, 1, 1}, classes: 2, decay: 0.5}
	g = make([]float64, 6)
	near(t, "mean cross-entropy", classes.value(make([]float64, 6), g), math.Ln2, 1e-12)
	for i, want := range []float64{-1. / 6, 1. / 2, 1. / 6, 1. / 6, -1. / 2, -1. / 6} {
		near(t, "derivative", g[i], want, 1e-12)
	}
	w = []float64{2, 0, 1, 0, 3, -1}
	if s := classes.scores(w, []float32{4, 5}); !slices.Equal(s, []float64{9, 14}) {
		t.Errorf("scores %v, want 9, 14", s)
	}
	// Scores 3, −1; 1, 2; 1, 5.
	want := math.Log1p(math.Exp(-4)) + math.Log1p(math.Exp(-1)) + math.Log1p(math.Exp(-4))
	near(t, "with decay", classes.value(w, g), want/3+0.25*(4+9), 1e-12)
	loss, right = classes.judge(w, []int{0, 1, 2})
	near(t, "judged", loss, want, 1e-9)
	if right != 3 {
		t.Errorf("%d right", right)
	}
	loss, right = (problem{x: classes.x, y: []int{1, 0, 0}, classes: 2}).judge(w, []int{1})
	near(t, "judged", loss, 1+math.Log1p(math.Exp(-1)), 1e-9)
	if right != 0 {
		t.Errorf("%d right", right)
	}
}

// What is linear is found, for features of any mean and scale, and folds that are held out say how good it is.
func TestRegressLinear(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var p, c problem
	p.classes, c.classes = 1, 3
	for range 120 {
		a, b := r.NormFloat64(), r.NormFloat64()
		p.x, p.target = append(p.x, []float32{float32(100 + 5*a), float32(2 * b)}), append(p.target, 3*a-2*b+40)
		kind := r.IntN(3)
		c.x, c.y = append(c.x, []float32{float32(20*kind) + float32(a), float32(b), float32(math.Abs(float64(kind - 1)))}), append(c.y, kind)
	}
	l, accuracy := p.regress(1, 1)
	if accuracy != 0 || l.decay > 2e-4 || len(l.weight) != 1 {
		t.Errorf("accuracy %v of measurements, decay %v", accuracy, l.decay)
	}
	near(t, "weight", l.weight[0][0], 0.6, 0.01)
	near(t, "weight", l.weight[0][1], -1, 0.01)
	near(t, "bias", l.bias[0]+100*l.weight[0][0], 40, 0.05)
	l, accuracy = c.regress(1, 1)
	if accuracy != 1 || len(l.bias) != 3 {
		t.Errorf("accuracy %v of classes that lie apart", accuracy)
	}
	right := 0
	for i, x := range c.x {
		s := slices.Clone(l.bias)
		for k, row := range l.weight {
			for j, v := range x {
				s[k] += row[j] * float64(v)
			}
		}
		if slices.Index(s, slices.Max(s)) == c.y[i] {
			right++
		}
	}
	if right != len(c.x) {
		t.Errorf("%d of %d right", right, len(c.x))
	}
	// Where the classes have nothing to do with the features, the strongest decays are best, and a third is right.
	for i := range c.y {
		c.y[i] = r.IntN(3)
	}
	if l, accuracy = c.regress(1, 1); l.decay < 0.05 || accuracy < 0.15 || accuracy > 0.55 {
		t.Errorf("without a rule: decay %v, accuracy %v", l.decay, accuracy)
	}
	// Views of a sample are held out together: a second view that gives its class away does not count.
	two := problem{classes: 2}
	for range 2 {
		r := rand.New(rand.NewPCG(1, 1)) // the same classes
		for i := range 40 {
			row := make([]float32, 40)
			row[i] = 1 // names the sample
			two.x, two.y = append(two.x, row), append(two.y, r.IntN(2))
		}
	}
	if _, accuracy := two.regress(2, 1); accuracy > 0.75 {
		t.Errorf("views of one sample are in several folds: accuracy %v", accuracy)
	}
	if d, a := (problem{x: [][]float32{{1}}, y: []int{0}, classes: 2}).choose(1, 0); d != 0.1 || a != 0 {
		t.Errorf("one sample: decay %v, accuracy %v", d, a)
	}
	if len(decays) != 19 || math.Abs(decays[0]-100) > 1e-9 || math.Abs(decays[3]-10) > 1e-9 || math.Abs(decays[18]-1e-4) > 1e-12 {
		t.Errorf("decays %v", decays)
	}
}

// The suggestion of curves made up: where the loss falls most steeply, but no more than an eighth of where it rises.
func TestSuggestedRate(t *testing.T) {
	for i, c := range []struct {
		loss []float64
		want float64 // of rates 1, 2, 4, …
	}{
		{[]float64{1, 1, 1, .9, .7, .4, .35, .33, .36, .7, 2, 5}, 16},
		{[]float64{1, 1, 1, 1, 1, 1, 1, 1, .9, .5, .4, .8, 1, 3}, 256},        // risen at once
		{[]float64{1, 1, 1, 1, 1, 1, 1, 1, .9, .5, .4, .45, .8, 3}, 512},      // one step later
		{[]float64{1, 1.2, 1, 1, 1, 1, 1, 1, .9, .3, .2, .84, .9, 2, 3}, 512}, // above what varies between batches
		{[]float64{1, 1, .9, .8, .5, .45, .4, .39}, 8},
		{[]float64{1, 1, .99, 1, .98, .99, 1, 1.01}, 16}, // it does not fall
		{[]float64{-1, -1, -1, -1.5, -2, -1.9, -1.7, -1}, 8},
	} {
		var curve RateCurve
		for k, v := range c.loss {
			curve.Rate, curve.Loss = append(curve.Rate, math.Pow(2, float64(k))), append(curve.Loss, v)
		}
		if curve.suggest(); curve.Suggestion != c.want {
			t.Errorf("%d: %v, want %v", i, curve.Suggestion, c.want)
		}
	}
	s := rising{1e-4, 1, 5}
	for step, want := range map[int]float64{0: 1e-4, 1: 1e-3, 2: 1e-2, 4: 1} {
		near(t, "rate", s.At(step, 0), want, 1e-9*want)
	}
}
