package train

import (
	"math"
	"math/rand/v2"
	"testing"
)

// An improvement is more than chance makes of so few samples: in the right answers, or in the losses while these are no fewer.
func TestVerdict(t *testing.T) {
	var before evaluation
	for i, loss := range []float64{1, 0.5, 2, 0.1, 0.7, 0.9} {
		before.answers = append(before.answers, answer{loss, i >= 2})
	}
	for _, c := range []struct {
		change []float64
		right  []int // answers that turn
		better bool
	}{
		{change: []float64{-0.1, -0.1, -0.1, -0.1, -0.1, -0.1}, better: true},
		{change: []float64{-0.4, -0.3, -0.9, 0.1, -0.3, -0.4}, better: true},
		{change: []float64{-0.9, 0.5, -1.5, 0.9, 0.6, -0.1}}, // by one sample
		{change: []float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1}},
		{change: []float64{0, 0, 0, 0, 0, 0}},
		{change: []float64{0, 0, 0, 0, 0, 0}, right: []int{0, 1}, better: true},
		{change: []float64{0, 0, 0, 0, 0, 0}, right: []int{0}},
		{change: []float64{0, 0, 0, 0, 0, 0}, right: []int{2, 3}},
		{change: []float64{-0.1, -0.1, -0.1, -0.1, -0.1, -0.1}, right: []int{2}},
	} {
		after := evaluation{figures: map[string]float64{"loss": 1}}
		for i, a := range before.answers {
			a.loss += c.change[i]
			after.answers = append(after.answers, a)
		}
		for _, i := range c.right {
			after.answers[i].right = !after.answers[i].right
		}
		if got := after.better(before); got != c.better {
			t.Errorf("%+v: better %v", c, got)
		}
	}
	if !(evaluation{figures: map[string]float64{"loss": math.NaN()}}).clearlyWorse(evaluation{}) {
		t.Error("a model without a loss is none")
	}
}

// TestClearlyWorse checks that clearly worse means by more than two standard errors of the number of
// predictions that became right or wrong.
func TestClearlyWorse(t *testing.T) {
	for _, c := range []struct {
		lost, gained int
		want         bool
	}{{4, 0, false}, {5, 0, true}, {6, 1, false}, {9, 2, true}, {8, 2, false}, {0, 9, false}, {0, 0, false}} {
		after, before := evaluation{figures: map[string]float64{"loss": 1}}, evaluation{}
		for i := range c.lost + c.gained + 3 {
			after.answers = append(after.answers, answer{1, i >= c.lost})
			before.answers = append(before.answers, answer{1, i < c.lost || i >= c.lost+c.gained})
		}
		if got := after.clearlyWorse(before); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if !(evaluation{figures: map[string]float64{"loss": math.Inf(1)}}).clearlyWorse(evaluation{}) {
		t.Error("a model without a loss is none")
	}
}

// TestCalibrated checks that scores that are too small or too large by a factor give the losses of the right ones: classes are drawn
// from the probabilities of random scores, which are then divided by the factor.
func TestCalibrated(t *testing.T) {
	probability := func(z []float64, factor float64) []float64 {
		a, b, c := math.Exp(factor*z[0]), math.Exp(factor*z[1]), math.Exp(factor*z[2])
		return []float64{a / (a + b + c), b / (a + b + c), c / (a + b + c)}
	}
	r := rand.New(rand.NewPCG(1, 2))
	scores, class := make([][]float64, 2000), make([]int, 2000)
	for i := range scores {
		scores[i] = []float64{2 * r.NormFloat64(), 2 * r.NormFloat64(), 2 * r.NormFloat64()}
		p, at := probability(scores[i], 1), r.Float64()
		for class[i] = 0; class[i] < 2 && at >= p[class[i]]; class[i]++ {
			at -= p[class[i]]
		}
	}
	for k, factor := range []float64{0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4} {
		var losses []lossesByScale
		for i, z := range scores {
			losses = append(losses, scaledLosses(probability(z, 1/factor), class[i]))
		}
		best := calibrated(losses)
		if best != k {
			t.Errorf("divided by %v: scale %d", factor, best)
			continue
		}
		for i, z := range scores {
			want := math.Log(math.Exp(z[0])+math.Exp(z[1])+math.Exp(z[2])) - z[class[i]]
			if got := losses[i][best]; math.Abs(got-want) > 1e-3*(1+want) {
				t.Fatalf("divided by %v: sample %d: loss %v, want %v", factor, i, got, want)
			}
		}
	}
}
