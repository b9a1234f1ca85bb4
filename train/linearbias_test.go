package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// TestBiases checks that biases, which have no decay, make the mean probability of each class its
// fraction of the rows, and the mean residual of a regression 0, also for features with a large mean.
func TestBiases(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	p := problem{classes: 3}
	share := make([]float64, 3)
	for i := range 90 {
		c := i * i % 7 % 3
		p.x = append(p.x, []float32{100 + float32(r.NormFloat64()) + float32(c), float32(r.NormFloat64()) - float32(c), 5})
		p.y = append(p.y, c)
		share[c] += 1.0 / 90
	}
	fit, _, _ := p.regress(1, 1)
	mean := make([]float64, 3)
	for _, x := range p.x {
		scores := make([]float64, 3)
		for c, row := range fit.weight {
			scores[c] = fit.bias[c]
			for k, v := range x {
				scores[c] += row[k] * float64(v)
			}
			scores[c] /= fit.scale // as they were solved for
		}
		top, sum := slices.Max(scores), 0.0
		for _, s := range scores {
			sum += math.Exp(s - top)
		}
		for c, s := range scores {
			mean[c] += math.Exp(s-top) / sum / 90
		}
	}
	for c := range 3 {
		if math.Abs(mean[c]-share[c]) > 2e-3 {
			t.Errorf("class %d: mean probability %v, share of the rows %v", c, mean[c], share[c])
		}
	}
	m := problem{x: p.x, classes: 1}
	for _, x := range p.x {
		m.target = append(m.target, 3*float64(x[0])-2*float64(x[1])+7)
	}
	line, _, _ := m.regress(1, 1)
	residual := 0.0
	for i, x := range m.x {
		residual += (line.weight[0][0]*float64(x[0]) + line.weight[0][1]*float64(x[1]) + line.weight[0][2]*float64(x[2]) + line.bias[0] - m.target[i]) / 90
	}
	if math.Abs(residual) > 1e-3 || math.Abs(line.weight[0][0]-3) > 0.05 || math.Abs(line.weight[0][1]+2) > 0.05 {
		t.Errorf("mean residual %v, weights %v", residual, line.weight)
	}
}

// wholeDecay is a rule whose setting is not a floating-point number.
type wholeDecay struct{ WeightDecay int }

func (wholeDecay) Init(*tensor.Dense) ([]optim.Slot, error)                     { return nil, nil }
func (wholeDecay) Step(_, _ *tensor.Dense, _ []optim.Slot, _ optim.Hyper) error { return nil }

// TestWithSetting checks settings of a rule by name, and which parameters a group matches.
func TestWithSetting(t *testing.T) {
	r, err := with(optim.SGD{LR: 1, Momentum: 0.5}, "LR", 2)
	if err != nil || r != (optim.SGD{LR: 2, Momentum: 0.5}) {
		t.Error(r, err)
	}
	for want, rule := range map[string]optim.Rule{"optim.Chain": optim.Chain{}, "train.wholeDecay": wholeDecay{}} {
		if _, err := with(rule, "WeightDecay", 1); err == nil || err.Error() != "train: WeightDecay is set for parameters, but the rule "+want+" has no such setting" {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"w*", "w1", true}, {"w*", "x/w1", false}, {"*w1", "x/w1", true}, {"x/*", "x/y/w", true}, {"x/?", "x/y", true}, {"x?y", "x/y", true}, {"[", "[", false}, {"", "", true}, {"a", "ab", false},
	} {
		if got := glob(c.pattern, c.name); got != c.want {
			t.Errorf("%q, %q: %v", c.pattern, c.name, got)
		}
	}
	g := layered(t)
	params := map[string]*nn.Param{}
	for p := range g.Params() {
		params[p.Name()] = p
	}
	var kernel, bias *nn.Param
	for name, p := range params {
		if p.Role() == nn.Weight && strings.HasPrefix(name, "a") {
			if p.Value().Type().Rank() == 2 {
				kernel = p
			} else {
				bias = p
			}
		}
	}
	for _, c := range []struct {
		groups     []ParamGroup
		rate       float64
		rule       optim.Rule
		ofBiasRate float64
	}{
		{nil, 1, optim.AdamW{}, 1}, {[]ParamGroup{{}}, 1, optim.AdamW{}, 1}, {[]ParamGroup{{Rate: 0.5}}, 0.5, optim.AdamW{}, 0.5}, {[]ParamGroup{{Rate: optim.Off}}, 0, optim.AdamW{}, 0},
		{[]ParamGroup{{Rank: 1, Rate: 0.5}}, 1, optim.AdamW{}, 0.5}, {[]ParamGroup{{Rank: 2, Rate: 0.5}}, 0.5, optim.AdamW{}, 0.5}, {[]ParamGroup{{Params: []*nn.Param{kernel}, Rate: 0.5}}, 0.5, optim.AdamW{}, 1},
		{[]ParamGroup{{Match: []string{"none", "a*"}, Rate: 0.5}, {Rate: 0.25}}, 0.5, optim.AdamW{}, 0.5}, {[]ParamGroup{{Match: []string{}, Rate: 0.5}, {Rate: 0.25}}, 0.25, optim.AdamW{}, 0.25},
		{[]ParamGroup{{Rule: optim.SGD{LR: 3}, WeightDecay: 0.125}}, 1, optim.SGD{LR: 3, WeightDecay: 0.125}, 1}, {[]ParamGroup{{WeightDecay: 0.125}}, 1, optim.AdamW{WeightDecay: 0.125}, 1},
	} {
		conf := Config{Groups: c.groups}
		of, err := conf.planFor(conf.grouping(), kernel)
		other, _ := conf.planFor(conf.grouping(), bias)
		if err != nil || of.rule != c.rule || of.rate != c.rate || other.rate != c.ofBiasRate {
			t.Errorf("%+v: %+v, of the bias %v, %v", c.groups, of, other.rate, err)
		}
	}
}

// TestFiniteHistory checks that values that JSON cannot represent are omitted from a checkpoint's history.
func TestFiniteHistory(t *testing.T) {
	h := History{{Epoch: 1}, {Epoch: 2, Val: map[string]float64{"loss": math.NaN(), "a": 1, "b": math.Inf(1)}}, {Epoch: 3, Val: map[string]float64{}}}
	got := finiteHistory(h)
	if got[0].Val != nil || len(got[1].Val) != 1 || got[1].Val["a"] != 1 || got[2].Val == nil || len(h[1].Val) != 3 {
		t.Errorf("%v of %v", got, h)
	}
}

// TestEpochMarks checks ticks of epochs at multiples of 1, 2, 5, 10, …
func TestEpochMarks(t *testing.T) {
	for last, want := range map[int]string{1: "1", 3: "1 2 3", 10: "1 2 3 4 5 6 7 8 9 10", 11: "2 4 6 8 10", 20: "2 4 6 8 10 12 14 16 18 20", 30: "5 10 15 20 25 30", 100: "10 20 30 40 50 60 70 80 90 100", 110: "20 40 60 80 100", 2000: "200 400 600 800 1000 1200 1400 1600 1800 2000"} {
		var labels []string
		for _, m := range (wholeTicks{last}).Ticks(0.5, 0) {
			labels = append(labels, m.Label)
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("%d epochs: %s, want %s", last, got, want)
		}
	}
	if got := (wholeTicks{9}).Ticks(7, 0); len(got) != 3 || got[0].Value != 7 {
		t.Errorf("from epoch 7: %v", got)
	}
}

// TestRegressionCharged: a regression that does not fit in the memory limit is refused before it begins, and what it was charged is returned.
func TestRegressionCharged(t *testing.T) {
	rows, target := make([][]float32, 100), make([]float64, 100)
	for i := range rows {
		rows[i] = make([]float32, 2000)
		rows[i][i], target[i] = 1, float64(i)
	}
	defer budget.Limit(0)
	before := budget.LeftCollected()
	if _, err := FitMeasured(rows, target, 1); err != nil || budget.LeftCollected() < before {
		t.Error(err)
	}
	budget.Limit(budget.Default() - before + 3<<20)
	if _, err := FitMeasured(rows, target, 1); err == nil || !strings.Contains(err.Error(), "train: a regression of 2000 features in 100 rows: takes") {
		t.Error(err)
	}
}
