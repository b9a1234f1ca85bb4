package train

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
)

// TestScores checks scores of several positions per sample, and the area under a curve with ties,
// against values computed by hand.
func TestScores(t *testing.T) {
	s := scores{n: 2, c: 3, in: 2}
	for i := range 12 {
		s.x = append(s.x, float64(i))
	}
	for i := range 4 {
		for c := range 3 {
			if got, want := s.at(i, c), float64(i/2*6+c*2+i%2); got != want {
				t.Errorf("position %d, class %d: %v, want %v", i, c, got, want)
			}
		}
	}
	a := &AUROC{score: []float64{1, 2, 2, 3, 4}, yes: []bool{false, true, false, false, true}}
	near(t, "area", a.Result()["auroc"], (1.5+3)/6, 1e-12)
}

// TestExchange checks that averages and weights of any size are swapped.
func TestExchange(t *testing.T) {
	a, b := dtype.New(dtype.Float32, 2500), dtype.New(dtype.Float32, 2500)
	for i := range 2500 {
		a.Float32s()[i], b.Float32s()[i] = float32(i), float32(-i-1)
	}
	exchange(a, b)
	for i := range 2500 {
		if a.Float32s()[i] != float32(-i-1) || b.Float32s()[i] != float32(i) {
			t.Fatalf("element %d is %v and %v", i, a.Float32s()[i], b.Float32s()[i])
		}
	}
}
