package train

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/optim"
)

// TestTracker checks which epochs are best, and when patience ends, for given curves.
func TestTracker(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for i, c := range []struct {
		config Config
		curve  []float64
		best   string // + where an epoch is the best so far
		stop   int    // the first epoch that patience ends with; 0: none
	}{
		{Config{}, []float64{3, 2, 2, 1, 4, 4, 4}, "++-+---", 0},
		{Config{Patience: 1}, []float64{3, 2, 2}, "++-", 3},
		{Config{Patience: 2}, []float64{3, 4, 2, 3, 3}, "+-+--", 5},
		{Config{Patience: 3}, []float64{3, 4, 5}, "+--", 0},
		{Config{MinDelta: 0.5}, []float64{3, 2.5, 2.4, 2, 1.875}, "+-+-+", 0},
		{Config{MinDelta: 0.5, Mode: "max"}, []float64{1, 1.5, 1.75, 2.5}, "+-++", 0},
		{Config{Mode: "max"}, []float64{1, 0.5, 2}, "+-+", 0},
		{Config{Mode: "min"}, []float64{1, 0.5, 2}, "++-", 0},
		{Config{Patience: 2}, []float64{nan, inf, 5, 6}, "--+-", 2},
		{Config{}, []float64{-1, -2, -1.5}, "++-", 0},
	} {
		tr := newTracker(c.config)
		got, stopped := "", 0
		for k, v := range c.curve {
			best, stop, err := tr.update(Epoch{Epoch: k + 1, Loss: 7, Val: map[string]float64{"loss": v}})
			if err != nil {
				t.Fatal(err)
			}
			got += map[bool]string{true: "+", false: "-"}[best]
			if stop && stopped == 0 {
				stopped = k + 1
			}
		}
		if got != c.best || stopped != c.stop {
			t.Errorf("%d: best %s, stopped by epoch %d, want %s, %d", i, got, stopped, c.best, c.stop)
		}
	}
	e := Epoch{Loss: 7, Val: map[string]float64{"accuracy": 0.5, "loss": 3}}
	for _, c := range []struct {
		monitor string
		e       Epoch
		want    float64
		err     string
	}{
		{"", e, 3, ""}, {"", Epoch{Loss: 7}, 7, ""}, {"accuracy", e, 0.5, ""}, {"loss", e, 3, ""}, {"loss", Epoch{Loss: 7}, 7, ""},
		{"f1", e, 0, `train: Monitor is "f1", the validation has [accuracy loss]`},
	} {
		tr := newTracker(Config{Monitor: c.monitor})
		v, err := tr.figure(c.e)
		if v != c.want || (err != nil) != (c.err != "") || err != nil && err.Error() != c.err {
			t.Errorf("%q: %v, %v, want %v, %s", c.monitor, v, err, c.want, c.err)
		}
		if _, _, failed := tr.update(c.e); (failed != nil) != (c.err != "") {
			t.Errorf("%q: error %v", c.monitor, failed)
		}
	}
	for name, want := range map[string]bool{
		"": false, "loss": false, "mae": false, "rmse": false, "ece": false, "accuracy": true, "top5": true, "precision": true, "recall": true, "f1": true, "r2": true, "auroc": true, "iou": true,
	} {
		if newTracker(Config{Monitor: name}).higher != want || newTracker(Config{Monitor: name, Mode: "max"}).higher != true || newTracker(Config{Monitor: name, Mode: "min"}).higher {
			t.Errorf("%q: higher is better: want %v, and what Mode says", name, want)
		}
	}
}

// The rate falls where the figure that is monitored does not improve, whichever way it improves.
func TestTrackerLowersRate(t *testing.T) {
	for mode, curve := range map[string][]float64{"min": {10, 9, 9, math.Inf(-1), 8, math.NaN(), 8}, "max": {1, 2, 2, math.Inf(1), 3, math.NaN(), 3}} {
		tr := newTracker(Config{Mode: mode, Plateau: &optim.Plateau{Factor: 0.5, Patience: 1}})
		var got []float64
		for _, v := range curve {
			if _, _, err := tr.update(Epoch{Loss: v}); err != nil {
				t.Fatal(err)
			}
			got = append(got, tr.plateau.Rate)
		}
		for i, want := range []float64{1, 1, 1, 0.5, 0.5, 0.5, 0.25} {
			if got[i] != want {
				t.Errorf("%s: rates %v, want %v in epoch %d", mode, got, want, i+1)
				break
			}
		}
		if tr.rule.Higher {
			t.Error("the configuration's rule was changed")
		}
	}
}
