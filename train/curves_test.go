package train

import (
	"bytes"
	"image/png"
	"maps"
	"testing"
)

// TestCharts checks that curves have an axis for each kind of metric, and as many ticks as fit.
func TestCharts(t *testing.T) {
	h := History{
		{Epoch: 1, Loss: 1, LR: 1e-3, Val: map[string]float64{"loss": 1, "accuracy": 0.5, "top5": 0.75, "mae": 20, "rmse": 30, "r2": 0.1, "ece": 0.1}, Best: true},
		{Epoch: 2, Loss: 1, LR: 1e-6, Val: map[string]float64{"loss": 2}},
	}
	count := map[string]int{}
	for _, c := range h.charts() {
		count[c.title] = len(c.curves)
		if c.log != (c.title == "learning rate") {
			t.Errorf("%s: logarithmic is %v", c.title, c.log)
		}
	}
	want := map[string]int{"loss": 2, "fraction": 2, "ece": 1, "error": 2, "r2": 1, "learning rate": 1}
	if !maps.Equal(count, want) {
		t.Errorf("charts and their curves are %v, want %v", count, want)
	}
	if s := h.title(); s != "2 epochs, the best is 1 with a validation loss of 1" {
		t.Errorf("title %q", s)
	}
	var b bytes.Buffer
	if err := h.WriteCurves(&b); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil || img.Bounds().Dy() < 6*img.Bounds().Dx()*7/18-20 {
		t.Errorf("the image is %v, %v", img.Bounds(), err)
	}
	for last, n := range map[int]int{1: 1, 2: 2, 10: 10, 40: 8, 1000: 10} {
		if got := (wholeTicks{last}).Ticks(1, float64(last)); len(got) != n {
			t.Errorf("%d epochs have %d marks, want %d", last, len(got), n)
		}
	}
}
