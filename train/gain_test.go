package train

import "testing"

// A fall of the losses counts where it is larger than what chance makes of so few samples.
func TestFell(t *testing.T) {
	before := []float64{1, 0.5, 2, 0.1, 0.7, 0.9}
	for _, c := range []struct {
		change []float64
		want   bool
	}{
		{[]float64{-0.1, -0.1, -0.1, -0.1, -0.1, -0.1}, true},
		{[]float64{-0.4, -0.3, -0.9, 0.1, -0.3, -0.4}, true},
		{[]float64{-0.9, 0.5, -1.5, 0.9, 0.6, -0.1}, false}, // by one sample
		{[]float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1}, false},
		{[]float64{0, 0, 0, 0, 0, 0}, false},
	} {
		after := make([]float64, len(before))
		for i := range after {
			after[i] = before[i] + c.change[i]
		}
		if got := fell(before, after); got != c.want {
			t.Errorf("changes %v: %v, want %v", c.change, got, c.want)
		}
	}
	if fell([]float64{2}, []float64{1}) != true || fell(nil, nil) {
		t.Error("one sample, or none")
	}
}
