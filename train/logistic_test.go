package train

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRegressionGradient compares the gradient of the objective, whose products are float32, with finite differences, and checks that
// it almost vanishes at the solution. The rows are more than a block.
func TestRegressionGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := problem{classes: 3, decay: 0.3}
	for i := range 2*blockRows + 40 {
		p.x = append(p.x, []float32{float32(r.NormFloat64()) + float32(i%3), float32(r.NormFloat64()), float32(r.NormFloat64())})
		p.y = append(p.y, i%3)
	}
	w, g, other := make([]float64, 12), make([]float64, 12), make([]float64, 12)
	for i := range w {
		w[i] = r.NormFloat64()
	}
	value := p.objective()
	value(w, g)
	for i := range w {
		const h = 1e-2
		at := w[i]
		w[i] = at + h
		up := value(w, other)
		w[i] = at - h
		down := value(w, other)
		w[i] = at
		if d := (up - down) / (2 * h); math.Abs(d-g[i]) > 1e-4 {
			t.Errorf("derivative %d is %v, want %v", i, g[i], d)
		}
	}
	value(p.solve(nil), g)
	if n := norm(g); n > 1e-3 {
		t.Errorf("the gradient at the solution has norm %v", n)
	}
}
