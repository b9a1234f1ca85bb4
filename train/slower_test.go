package train

import (
	"math"
	"testing"
)

// TestSlower checks the rates that a run from scratch tries: the suggested one, a third and a tenth of it, none below minRate.
func TestSlower(t *testing.T) {
	for rate, want := range map[float64][]float64{1e-2: {1e-2, 1e-2 / 3, 1e-3}, 9e-4: {9e-4, 3e-4}, 2e-4: {2e-4}, minRate: {minRate}} {
		got := slower(recipe{Rate: rate, Epochs: 7})
		if len(got) != len(want) {
			t.Errorf("%v: %v", rate, got)
			continue
		}
		for i, p := range got {
			if math.Abs(p.Rate-want[i]) > 1e-12*want[i] || p.Epochs != 7 {
				t.Errorf("%v: %v, want %v", rate, p, want[i])
			}
		}
	}
}
