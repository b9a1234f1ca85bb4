package train

import (
	"math"
	"testing"
)

// TestLeastLoss checks which of several tried plans is chosen: the start by the mean loss of the plans at the same rates, then the rate.
func TestLeastLoss(t *testing.T) {
	plan := func(rate, spread float64, anew bool, loss float64) trial {
		return trial{recipe{Rate: rate, Spread: spread, Anew: anew}, loss}
	}
	for name, c := range map[string]struct {
		trials []trial
		want   int // index; −1: none
	}{
		"none":             {nil, -1},
		"only infinite":    {[]trial{plan(1, 1, false, math.Inf(1))}, -1},
		"one start":        {[]trial{plan(1, 0.1, false, 3), plan(1, 1, false, 2), plan(3, 1, false, 4)}, 1},
		"luck":             {[]trial{plan(1, 0.1, false, 0.9), plan(1, 1, true, 0.91), plan(1, 1, false, 1.49), plan(3, 1, false, 0.75), plan(3, 1, true, 0.76)}, 4},
		"fitted is better": {[]trial{plan(1, 1, true, 0.5), plan(1, 1, false, 0.6), plan(3, 1, false, 0.4), plan(3, 1, true, 0.9)}, 2},
		"discriminative":   {[]trial{plan(1, 0.1, false, 0.2), plan(1, 1, true, 0.4), plan(1, 1, false, 0.5)}, 0},
		"a higher rate":    {[]trial{plan(1, 1, true, 0.4), plan(1, 1, false, 0.5), plan(3, 1, true, 0.3)}, 2},
		"no common rate":   {[]trial{plan(1, 1, true, 0.4), plan(3, 1, false, 0.3)}, 1},
		"equal":            {[]trial{plan(1, 1, true, 0.4), plan(1, 1, false, 0.4)}, 0},
	} {
		got, ok := leastLoss(c.trials)
		if ok != (c.want >= 0) || ok && got.String() != c.trials[c.want].plan.String() {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
}
