package train_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/graft-ml/graft/train"
)

// wideRows are rows of features of which ten bear on the target, with noise.
func wideRows(rows, features int) (x [][]float32, y []float64) {
	r := rand.New(rand.NewPCG(5, 6))
	for range rows {
		row, sum := make([]float32, features), 0.0
		for k := range row {
			row[k] = float32(r.NormFloat64())*3 + 7
			if k < 10 {
				sum += float64(row[k]-7) / 3
			}
		}
		x, y = append(x, row), append(y, sum+2*r.NormFloat64()+40)
	}
	return x, y
}

func score(l train.LinearFit, c int, x []float32) float64 {
	s := l.Bias[c]
	for k, v := range x {
		s += l.Weight[c][k] * float64(v)
	}
	return s
}

// A linear model with nearly as many features as rows answers rows that it did not see, by a decay that rises with the features that mean
// nothing. The same seed gives the same model.
func TestLinearFit(t *testing.T) {
	decay := map[int]float64{}
	for _, features := range []int{12, 100} {
		x, y := wideRows(280, features)
		l, err := train.FitMeasured(x[:120], y[:120], 1)
		if err != nil {
			t.Fatal(err)
		}
		decay[features] = l.Decay
		missed, spread := 0.0, 0.0
		for i := 120; i < 280; i++ {
			missed += math.Pow(score(l, 0, x[i])-y[i], 2)
			spread += math.Pow(y[i]-40, 2)
		}
		if least := map[int]float64{12: 0.6, 100: 0.3}[features]; 1-missed/spread < least {
			t.Errorf("%d features: r² %.3f, want %v", features, 1-missed/spread, least)
		}
		class := make([]int, len(y))
		for i, v := range y {
			if v > 40 {
				class[i] = 1
			}
		}
		c, err := train.FitClasses(x[:120], class[:120], 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		right := 0
		for i := 120; i < 280; i++ {
			if (score(c, 1, x[i]) > score(c, 0, x[i])) == (class[i] == 1) {
				right++
			}
		}
		if least := map[int]int{12: 115, 100: 100}[features]; right < least {
			t.Errorf("%d features: %d of 160 right, want %d", features, right, least)
		}
		if again, err := train.FitClasses(x[:120], class[:120], 2, 1); err != nil || !reflect.DeepEqual(again, c) {
			t.Errorf("a second fit differs (%v)", err)
		}
	}
	if !(decay[100] > 3*decay[12]) {
		t.Errorf("decays %v: want more for more features", decay)
	}
}

func TestLinearFitRefusals(t *testing.T) {
	rows := [][]float32{{1, 2}, {3, 4}}
	for want, f := range map[string]func() error{
		"train: 2 rows of features and 1 targets: want a target for each row, and features": func() error { _, err := train.FitMeasured(rows, []float64{1}, 0); return err },
		"train: row 1 has 1 features, row 0 has 2":                                          func() error { _, err := train.FitMeasured([][]float32{{1, 2}, {3}}, []float64{1, 2}, 0); return err },
		"train: sample 1 is of class 2, the model has scores for 2 classes":                 func() error { _, err := train.FitClasses(rows, []int{0, 2}, 2, 0); return err },
	} {
		if err := f(); err == nil || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
	}
}

// TestLinearFitOffset checks that a constant added to all targets changes only the bias, although it is large beside their deviation.
func TestLinearFitOffset(t *testing.T) {
	const offset = 1 << 24
	x, y := wideRows(60, 12)
	near, err := train.FitMeasured(x, y, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range y {
		y[i] += offset
	}
	far, err := train.FitMeasured(x, y, 1)
	if err != nil {
		t.Fatal(err)
	}
	for k, w := range near.Weight[0] {
		if math.Abs(far.Weight[0][k]-w) > 1e-4 {
			t.Errorf("weight %d: %v, want %v", k, far.Weight[0][k], w)
		}
	}
	if d := far.Bias[0] - near.Bias[0] - offset; math.Abs(d) > 1e-4 {
		t.Errorf("bias: off by %v", d)
	}
}
